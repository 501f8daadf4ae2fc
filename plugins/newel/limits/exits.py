"""Exits: those that wait at a gate learn at once that one has left it in their own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary


class Exits:
    """Who waits at which gate, by event loop. It wakes them; the store decides who goes in."""

    def __init__(self) -> None:
        self._watching: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, set[asyncio.Event]]]
        self._watching = WeakKeyDictionary()

    @contextmanager
    def watched(self, gate: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever one leaves the gate."""
        gates = self._watching.setdefault(asyncio.get_running_loop(), {})
        left = asyncio.Event()
        gates.setdefault(gate, set()).add(left)
        try:
            yield left
        finally:
            gates[gate].discard(left)
            if not gates[gate]:
                del gates[gate]

    def left(self, gate: str) -> None:
        """Wake those that wait at the gate."""
        for event in self._watching.get(asyncio.get_running_loop(), {}).get(gate, ()):
            event.set()
