"""Patience: how long an operation of a store waits, whatever number of reads, writes and retries it consists of."""

from __future__ import annotations

from contextvars import ContextVar

from newel.sessions.stored import clockwork


class OnePatience:
    """A block whose reads and writes have one patience together; a block within another one has the outer one's."""

    __slots__ = ("is_open", "since")
    since: float

    def __init__(self) -> None:
        #: Whether it is going on, and is not within another one; `since` when (see `clockwork.elapsed`).
        self.is_open = False

    def __enter__(self) -> None:
        outer = _current.get()
        if outer is None or not outer.is_open:  # else it has the outer one's
            self.since, self.is_open = clockwork.elapsed(), True
            _current.set(self)

    def __exit__(self, *_: object) -> None:
        self.is_open = False  # it stays the current one: a coroutine that the collector ends, ends in another context


_current: ContextVar[OnePatience | None] = ContextVar("one_patience", default=None)


def patience_ends(patience: float) -> float:
    """Until when a read or a write may wait (see `clockwork.elapsed`) that begins now, in a store of this patience."""
    block = _current.get()
    return (block.since if block is not None and block.is_open else clockwork.elapsed()) + patience
