"""Held streams: what a stranger prints while it is imported is not the output of the program."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from newel_kernel import plain

#: The most characters that are kept.
_MOST = 2000


class _Held:
    """Stands in the place of a stream while one thread runs code of a stranger; then, it is that stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._thread = threading.get_ident()
        self.is_held = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write `text`, or do with it what is to be done with a stranger's."""
        if not self.is_held or threading.get_ident() != self._thread:
            return int(self._stream.write(text))
        self.take(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of the lines."""
        for line in lines:
            self.write(line)

    def take(self, text: str) -> None:
        """Write it in plain characters: a terminal obeys the others."""
        self._stream.write("\n".join(plain(line) for line in text.split("\n")))


class _HeldOutput(_Held):
    """Keeps the text, to be told."""

    text = ""

    def take(self, text: str) -> None:
        """Keep the beginning."""
        self.text = f"{self.text}{text}"[:_MOST]


class HeldStreams:
    """Holds stdout and stderr until they are released."""

    def __init__(self) -> None:
        self._before = {"stdout": sys.stdout, "stderr": sys.stderr}
        self._held: dict[str, _Held] = {}
        for name, kind in (("stdout", _HeldOutput), ("stderr", _Held)):
            if (stream := self._before[name]) is not None:
                self._held[name] = kind(stream)
                setattr(sys, name, self._held[name])

    def release(self) -> str:
        """Put the streams back, but for one that was replaced; return what was printed to stdout."""
        for name, held in self._held.items():
            held.is_held = False
            if getattr(sys, name) is held:
                setattr(sys, name, self._before[name])
            with suppress(OSError, ValueError):  # closed
                self._before[name].flush()  # what went to its buffer, past it, goes where it goes now
        return getattr(self._held.get("stdout"), "text", "")
