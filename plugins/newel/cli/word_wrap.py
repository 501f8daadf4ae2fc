"""WordWrap: text for a terminal, as it is streamed, whose lines end between words."""

from __future__ import annotations

import re
import shutil
import sys
from unicodedata import combining, east_asian_width

_PIECES = re.compile(r"\n|[^\S\n]+|\S+")


class WordWrap:
    """Breaks lines at the terminal's width. If the output is not a terminal, text passes unchanged.

    Each chunk is written at once: a word that turns out too long for its line is taken back and begins the next one.
    """

    def __init__(self) -> None:
        self._column = 0
        #: The word at the end of what was written, which the next chunk may continue.
        self._word = ""

    def add(self, text: str) -> str:
        """What to write for `text`."""
        return "".join(map(self._placed, _PIECES.findall(text))) if sys.stdout.isatty() else text

    def end(self) -> None:
        """The next text begins a line."""
        self._word, self._column = "", 0

    def _placed(self, piece: str) -> str:
        most = shutil.get_terminal_size().columns - 1  # in the last column a terminal is about to wrap by itself
        if piece.isspace():
            self._word = ""
            if piece == "\n" or self._column + width(piece) > most:
                self._column = 0
                return "\n"
            self._column += width(piece)
            return piece
        before, self._word = self._word, self._word + piece
        begins = self._column - width(before)
        if begins > 0 and width(self._word) <= most < begins + width(self._word):  # a word that fits nowhere stays here
            self._column = width(self._word)
            return (f"\x1b[{width(before)}D\x1b[K" if before else "") + "\n" + self._word
        self._column += width(piece)
        return piece


def wrapped(text: str) -> str:
    """A whole text, broken at the terminal's width; the spaces at which it breaks are left out."""
    wrap = WordWrap()
    placed: list[str] = []
    for piece in _PIECES.findall(text):
        next_piece = wrap._placed(piece)
        if next_piece.startswith("\n") and placed and placed[-1].isspace() and "\n" not in placed[-1]:
            placed.pop()
        placed.append(next_piece)
    return "".join(placed)


def width(text: str) -> int:
    """How many columns a text takes."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
