"""Wakes: those that wait for something to change, in whichever event loops of this process, learn that it did."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress

from newel.connections.per_loop import PerLoop


class _Waiting:
    """Who waits in one event loop. Only that loop's thread changes it."""

    __slots__ = ("events", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.events: dict[Hashable, set[asyncio.Event]] = {}

    def set(self, key: Hashable) -> None:
        for event in self.events.get(key, ()):
            event.set()


class Wakes:
    """Who waits for which key to change. A wake only says that it is time to look again; threads may share it."""

    def __init__(self) -> None:
        self._loops = PerLoop(_Waiting)

    @contextmanager
    def watched(self, key: Hashable) -> Iterator[asyncio.Event]:
        """An event that is set whenever `key` changes."""
        events, changed = self._loops.get().events, asyncio.Event()
        events.setdefault(key, set()).add(changed)
        try:
            yield changed
        finally:
            events[key].discard(changed)
            if not events[key]:
                del events[key]

    def wake(self, key: Hashable) -> None:
        """Wake those that wait for `key`."""
        for waiting in self._loops.objects():
            if key in waiting.events:
                if waiting.loop is _running():
                    waiting.set(key)
                else:
                    with suppress(RuntimeError):  # that loop is closed
                        waiting.loop.call_soon_threadsafe(waiting.set, key)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
