"""Tags: thoughts that come within the text, between ``<think>`` and ``</think>``."""

from __future__ import annotations

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkTags:
    """Takes text in pieces, and tells thoughts from the rest. A thought can only be at the start of an answer.

    Line ends next to the tags belong to neither and are dropped.
    """

    def __init__(self) -> None:
        self._thinking = False
        self._decided = False
        self._pending = ""
        #: A tag has just ended: line ends that follow belong to it.
        self._trims = False

    def feed(self, text: str) -> list[tuple[str, bool]]:
        """The texts that are settled by now, each with whether it is a thought."""
        text, self._pending = self._pending + text, ""
        if not self._decided:
            bare = text.lstrip()
            if _OPEN.startswith(bare):  # nothing so far, or the beginning of the tag
                self._pending = text
                return []
            self._decided = True
            if bare.startswith(_OPEN):
                self._thinking = self._trims = True
                text = bare[len(_OPEN) :]
        texts: list[tuple[str, bool]] = []
        if self._thinking:
            text = self._think(text, texts)
        if text and not self._thinking:
            self._add(text, False, texts)
        return texts

    def close(self) -> list[tuple[str, bool]]:
        """The text that was held back."""
        texts: list[tuple[str, bool]] = []
        self._add(self._pending, self._thinking, texts)
        self._pending = ""
        return texts

    def _think(self, text: str, texts: list[tuple[str, bool]]) -> str:
        """Take a piece of a thought; return the text after its end."""
        at = text.find(_CLOSE)
        if at >= 0:
            self._add(text[:at].rstrip("\n"), True, texts)
            self._thinking, self._trims = False, True
            return text[at + len(_CLOSE) :]
        # Line ends before the tag, and text that may be the beginning of it, wait for more.
        tag = next((n for n in range(len(_CLOSE) - 1, 0, -1) if text.endswith(_CLOSE[:n])), 0)
        keep = len(text[: len(text) - tag].rstrip("\n"))
        self._pending = text[keep:]
        self._add(text[:keep], True, texts)
        return ""

    def _add(self, text: str, thought: bool, texts: list[tuple[str, bool]]) -> None:
        if self._trims:
            text = text.lstrip("\n")
        if text:
            self._trims = False
            texts.append((text, thought))
