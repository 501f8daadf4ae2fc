"""Tags: thoughts that come within the text, between ``<think>`` and ``</think>``."""

from __future__ import annotations

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkTags:
    """Takes text in pieces, and tells thoughts from the rest. A thought can only open the answer."""

    def __init__(self) -> None:
        self._thinking = False
        self._decided = False
        self._held = ""

    def feed(self, text: str) -> list[tuple[str, bool]]:
        """What is clear by now: each text with whether it is a thought."""
        text, self._held = self._held + text, ""
        if not self._decided:
            bare = text.lstrip()
            if _OPEN.startswith(bare):  # nothing so far, or the beginning of the tag
                self._held = text
                return []
            self._decided = True
            if bare.startswith(_OPEN):
                self._thinking, text = True, bare[len(_OPEN) :].lstrip("\n")
        if not self._thinking:
            return [(text, False)] if text else []
        at = text.find(_CLOSE)
        if at >= 0:
            self._thinking = False
            rest = text[at + len(_CLOSE) :].lstrip("\n")
            return [(said, thought) for said, thought in ((text[:at], True), (rest, False)) if said]
        keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if text.endswith(_CLOSE[:n])), 0)
        self._held = text[len(text) - keep :]
        said = text[: len(text) - keep]
        return [(said, True)] if said else []

    def close(self) -> list[tuple[str, bool]]:
        """What was held back."""
        held, self._held = self._held, ""
        return [(held, self._thinking)] if held else []
