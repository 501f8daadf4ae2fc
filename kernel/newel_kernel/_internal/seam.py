"""The one seam through which the kernel takes time, identifiers and tasks.

Everything in the kernel that needs one of these calls ``seam.clock()``, ``seam.new_id()`` or
``seam.spawn(...)``, so that a test can replace three functions and replay a run deterministically.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import time
from collections.abc import Callable, Coroutine, Iterator
from operator import add
from typing import Any, TypeVar

T = TypeVar("T")


_BATCH = 64
#: The last digits of the counted ids of one block, in order.
_TAILS = tuple(f"{number:03x}" for number in range(16**3))


class _Ids:
    """Unique ids at a tenth of the cost of ``uuid.uuid4``: a random start for each process, then counted."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Start again at random, as a forked child must."""
        #: Random ids that are made but not handed out yet; one system call gives the bytes for many.
        self.random: list[str] = []
        h = os.urandom(10).hex()
        self.prefix = f"{h[:8]}-{h[8:12]}-4{h[12:15]}-a{h[15:18]}-"
        self.blocks = itertools.count(int.from_bytes(os.urandom(4)))  # 32 bits of 36, so that it never overflows
        #: What is left of the current block.
        self.counted: Iterator[str] = iter(())

    def block(self) -> Iterator[str]:
        """The ids of the next block, each made when it is asked for; formatting a number takes five times as long."""
        return map(add, itertools.repeat(f"{self.prefix}{next(self.blocks):09x}"), _TAILS)


_ids = _Ids()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ids.restart)


def counted_uuid() -> str:
    """A unique UUID string; the next one can be guessed from it."""
    try:
        return next(_ids.counted)
    except StopIteration:
        _ids.counted = block = _ids.block()
        return next(block)


def random_uuid() -> str:
    """A random UUID string that cannot be guessed."""
    try:
        return _ids.random.pop()
    except IndexError:
        digits = re.findall("(.{8})(.{4}).(.{3}).(.{3})(.{12})", os.urandom(16 * _BATCH).hex())
        _ids.random += ["%s-%s-4%s-a%s-%s" % one for one in digits]  # noqa: UP031 - one step for each
        return _ids.random.pop()


def start_task(coroutine: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
    """Run `coroutine` as a task of the running loop."""
    return asyncio.get_running_loop().create_task(coroutine, name=name)


#: Seconds since the epoch.
clock: Callable[[], float] = time.time
#: Seconds since an arbitrary point, never backwards: for measuring how long something took.
monotonic: Callable[[], float] = time.perf_counter
#: A new globally unique identifier (a UUID string) for an event, an invocation or a call.
new_id: Callable[[], str] = counted_uuid
#: Likewise for a session, whose id may be all that a stranger needs to read the session.
new_session_id: Callable[[], str] = random_uuid
#: Starts a task; every concurrent piece of work in the kernel goes through it.
spawn: Callable[..., asyncio.Task[Any]] = start_task
