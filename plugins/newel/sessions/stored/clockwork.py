"""The one seam through which the stores take time, waits and threads.

A store calls `clockwork.elapsed()`, `clockwork.sleep(...)` or `clockwork.Thread(...)` by these names, so that a
simulation can replace them and replay stalls, kills and late answers deterministically: see `tests/simulation`.
What runs in an event loop takes its time and its waits from the loop.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

#: A clock that keeps running while this process, or its machine, sleeps.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)
#: Seconds by the clock of leases and waits, which never steps and counts the machine's sleep.
#: They count from the start of the machine (from an arbitrary moment on some systems), alike in all its processes.
elapsed: Callable[[], float] = time.monotonic if _CLOCK is None else partial(time.clock_gettime, _CLOCK)
#: Stops the calling thread for so many seconds.
sleep: Callable[[float], None] = time.sleep
#: A thread, and the one that runs.
Thread: Callable[..., threading.Thread] = threading.Thread
current_thread: Callable[[], threading.Thread] = threading.current_thread
#: A reentrant lock that may be held across waits. Locks that are held for a few instructions need no seam.
RLock: Callable[[], threading.RLock] = threading.RLock
#: A flag for which a thread waits, and a queue from which it reads.
Flag: Callable[[], threading.Event] = threading.Event
Queue: Callable[[], queue.SimpleQueue[Any]] = queue.SimpleQueue
#: Runs an event loop in a thread of a store.
Runner: Callable[[], asyncio.Runner] = asyncio.Runner
