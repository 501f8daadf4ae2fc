"""Transcripts: the pieces of the texts over a live connection, and their wholes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from newel_kernel import LlmResponse
from newel_types import Content, Part, Transcription

#: Makes a response of one connection out of its fields.
Make = Callable[..., LlmResponse]


class Transcript:
    """The transcript of one side: each piece is partial, and the whole is finished."""

    def __init__(self, side: Literal["input", "output"], make: Make) -> None:
        self._field = f"{side}_transcription"
        self._make = make
        self._pieces: list[str] = []
        self._whole = ""

    @property
    def is_open(self) -> bool:
        """Whether pieces of it came, and not yet all."""
        return bool(self._pieces)

    def piece(self, text: str | None, language: str | None = None) -> list[LlmResponse]:
        """Add a piece, which may be empty."""
        if not text:
            return []
        self._pieces.append(text)
        piece = Transcription(text=text, finished=False, language_code=language)
        return [self._make(partial=True, **{self._field: piece})]

    def finish(self, text: str | None = None) -> list[LlmResponse]:
        """The whole of the pieces so far, or `text` instead; nothing if nothing was said."""
        whole, self._pieces = text or "".join(self._pieces), []
        if not whole:
            return []
        self._whole = whole
        return self._finished(whole)

    def begin(self) -> None:
        """Another text begins: what was passed on before is not cut any more."""
        self._whole = ""

    def cut(self, share: float) -> list[LlmResponse]:
        """End it where the listener stopped hearing it, after `share` of it (0 to 1), in whole words.

        If its whole was passed on already, what follows says how much of that was heard.
        """
        if self._pieces:
            said, self._pieces = "".join(self._pieces), []
            return self._finished(f"{_beginning(said, share)}…")
        said, self._whole = self._whole, ""
        heard = f"only: {heard}…" if (heard := _beginning(said, share)) else "nothing of it"
        return self._finished(f" [interrupted; the listener heard {heard}]") if said else []

    def _finished(self, text: str) -> list[LlmResponse]:
        return [self._make(partial=False, **{self._field: Transcription(text=text, finished=True)})]


def _beginning(text: str, share: float) -> str:
    """About `share` of a text, up to the end of a word."""
    begin = text[: int(len(text) * share)]
    return begin if len(begin) == len(text) else begin[: begin.rfind(" ") + 1].rstrip()


class Words:
    """The model's text: each piece is partial, then comes the whole. A thought and an answer are two wholes."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._pieces: list[str] = []
        self._thought = False

    def __bool__(self) -> bool:
        """Whether something was written since the last whole."""
        return bool(self._pieces)

    def ends_with(self, part: Part) -> bool:
        """Whether a text begins a whole of its own."""
        return bool(self._pieces) and bool(part.thought) is not self._thought

    def add(self, part: Part) -> None:
        """Add a piece of text."""
        self._thought = bool(part.thought)
        self._pieces.append(part.text or "")

    def partial(self, parts: list[Part]) -> LlmResponse:
        """A partial response of pieces as they came."""
        return self._make(partial=True, content=Content(role="model", parts=parts))

    def finish(self, **more: object) -> list[LlmResponse]:
        """The whole of the pieces so far, with `more` fields; nothing if nothing was written."""
        if not self._pieces:
            return []
        part = Part(text="".join(self._pieces), thought=self._thought or None)
        self._pieces = []
        return [self._make(partial=False, content=Content(role="model", parts=[part]), **more)]
