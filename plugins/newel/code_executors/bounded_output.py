"""Bounded output: code may print without end, but only a bounded part is kept."""

from __future__ import annotations

#: Characters of one execution's output that are kept.
MAX_OUTPUT = 64 * 1024


def bounded(text: str, most: int = MAX_OUTPUT) -> str:
    """`text`; if it is longer than `most`, a note replaces its middle.

    The end stays: a traceback says there what went wrong.
    """
    if len(text) <= most:
        return text
    head, tail = most - most // 4, most // 4
    return f"{text[:head]}{_note(len(text) - head - tail)}{text[len(text) - tail :]}"


def _note(dropped: int) -> str:
    return f"\n[output cut: {dropped} characters left out]\n"


class Output:
    """Collects text up to a bound; text after the bound is counted, and only its end is kept."""

    __slots__ = ("_dropped", "_head", "_most", "_room", "_tail")

    def __init__(self, most: int = MAX_OUTPUT) -> None:
        self._most = most // 4
        self._room = most - self._most
        self._head: list[str] = []
        self._tail = ""
        self._dropped = 0

    def add(self, text: str) -> None:
        """Take more output."""
        if self._room:
            self._head.append(text[: self._room])
            length = len(self._head[-1])
            self._room -= length
            text = text[length:]
        if text:
            tail = self._tail + text
            self._tail = tail[-self._most :]
            self._dropped += len(tail) - len(self._tail)

    def text(self) -> str:
        """The collected text, with a note if something was left out."""
        return "".join(self._head) + (_note(self._dropped) if self._dropped else "") + self._tail
