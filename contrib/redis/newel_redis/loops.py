"""PerLoop: one object for each event loop, such as a client whose connections belong to the loop."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One object for each event loop, made by `make` when it is first asked for."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._per_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, T] = weakref.WeakKeyDictionary()
        self._pid = os.getpid()

    def __len__(self) -> int:
        return len(self._per_loop)

    def mine(self) -> T:
        """The running loop's object."""
        if self._pid != os.getpid():  # a forked child must not touch its parent's connections
            self._pid = os.getpid()
            self._per_loop = weakref.WeakKeyDictionary()
        loop = asyncio.get_running_loop()
        if loop not in self._per_loop:
            for closed in [one for one in self._per_loop if one.is_closed()]:  # the object may keep its loop alive
                del self._per_loop[closed]
            self._per_loop[loop] = self._make()
        return self._per_loop[loop]

    def pop(self) -> T | None:
        """Remove and return the running loop's object; None where it has none."""
        return self._per_loop.pop(asyncio.get_running_loop(), None)
