"""Patience: how long an operation of a store waits, whatever number of reads, writes and retries it consists of."""

from __future__ import annotations

from contextvars import ContextVar

from newel.sessions.stored import clockwork


class OnePatience:
    """A block whose reads and writes have one patience together; a block within another one has the outer one's."""

    __slots__ = ("_is_mine", "_is_over", "_since")

    def __init__(self) -> None:
        self._since = 0.0
        self._is_mine = self._is_over = False

    def __enter__(self) -> None:
        outer = _current.get()
        if outer is None or outer._is_over:  # over: what a task has from the operation that made it
            self._is_mine, self._since = True, clockwork.elapsed()
            _current.set(self)

    def __exit__(self, *_: object) -> None:
        if self._is_mine:
            self._is_over = True
            _current.set(None)  # no reset: a coroutine that the collector ends, ends in another context

    def end(self, patience: float) -> float | None:
        """When it ends; None if the block is over."""
        return None if self._is_over else self._since + patience


_current: ContextVar[OnePatience | None] = ContextVar("one_patience", default=None)


def patience_ends(patience: float) -> float:
    """Until when a read or a write may wait (see `clockwork.elapsed`) that begins now, in a store of this patience."""
    block = _current.get()
    end = block.end(patience) if block is not None else None
    return clockwork.elapsed() + patience if end is None else end
