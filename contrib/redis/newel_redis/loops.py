"""PerLoop: what each event loop has one of, such as a client, whose connections belong to the loop."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One thing for each event loop, made by `make` when it is first asked for."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._per_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, T] = weakref.WeakKeyDictionary()
        self._pid = os.getpid()

    def __len__(self) -> int:
        return len(self._per_loop)

    def mine(self) -> T:
        """That of the loop that runs."""
        if self._pid != os.getpid():  # a forked child must not touch its parent's connections
            self._pid = os.getpid()
            self._per_loop = weakref.WeakKeyDictionary()
        loop = asyncio.get_running_loop()
        if loop not in self._per_loop:
            for closed in [one for one in self._per_loop if one.is_closed()]:  # what was made may keep its loop
                del self._per_loop[closed]
            self._per_loop[loop] = self._make()
        return self._per_loop[loop]

    def pop(self) -> T | None:
        """That of the loop that runs, which has none any more; None where it had none."""
        return self._per_loop.pop(asyncio.get_running_loop(), None)
