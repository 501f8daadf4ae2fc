"""The one seam through which the kernel takes time, identifiers and tasks.

Everything in the kernel that needs one of these calls ``seam.clock()``, ``seam.new_id()`` or
``seam.spawn(...)``, so a test replaces three functions and a run replays deterministically.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


_BATCH = 64
_ready: list[str] = []
if hasattr(os, "register_at_fork"):  # a forked child must not hand out the ids that its parent holds ready
    os.register_at_fork(after_in_child=_ready.clear)


def random_uuid() -> str:
    """A version-4 UUID string, a tenth of the cost of ``str(uuid.uuid4())``: random bytes are read for many at once."""
    try:
        return _ready.pop()
    except IndexError:
        text = os.urandom(16 * _BATCH).hex()
        for at in range(0, len(text), 32):
            h = text[at : at + 32]
            _ready.append(f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}")
        return _ready.pop()


def start_task(coroutine: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
    """Run `coroutine` as a task of the running loop."""
    return asyncio.get_running_loop().create_task(coroutine, name=name)


#: Seconds since the epoch.
clock: Callable[[], float] = time.time
#: A new globally unique identifier (a UUID string).
new_id: Callable[[], str] = random_uuid
#: Starts a task; every concurrent piece of work in the kernel goes through it.
spawn: Callable[..., asyncio.Task[Any]] = start_task
