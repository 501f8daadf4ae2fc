"""Renewal: the sole right to renew a credential, for whoever asks in this process, in any loop and thread.

It is waited for by asking again every few milliseconds: a cancelled wait, a loop that ends and a thread that dies leave
nothing behind, and no thread is blocked that the owner may need.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager

from newel.auth.errors import RenewalWaitError

#: How long a renewal waits for another one of the same credential, in seconds.
PATIENCE = 30.0
#: The pauses between two attempts, in seconds: the first one, and the longest.
_PAUSE, _LONGEST_PAUSE = 0.002, 0.05


class Renewals:
    """The credentials that are being renewed in this process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: set[Hashable] = set()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_again)

    @asynccontextmanager
    async def hold(self, key: Hashable, patience: float = PATIENCE) -> AsyncIterator[None]:
        """Be the only one with this key; raises RenewalWaitError after `patience` seconds."""
        await attempt(lambda: self._take(key), patience)
        try:
            yield
        finally:
            with self._guard:
                self._held.discard(key)

    def _take(self, key: Hashable) -> bool:
        with self._guard:
            if key in self._held:
                return False
            self._held.add(key)
            return True

    def _begin_again(self) -> None:
        self._guard, self._held = threading.Lock(), set()  # the owners are threads of the parent


#: One for the process: stores that share a credential may be different objects.
shared = Renewals()


async def attempt(take: Callable[[], bool], patience: float) -> None:
    """Call `take` until it is true; raises RenewalWaitError after `patience` seconds."""
    end, pause = time.monotonic() + patience, _PAUSE
    while not take():
        if time.monotonic() >= end:
            raise RenewalWaitError(
                f"another caller has been renewing the credential for {patience:g} seconds; is it stuck?"
            )
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
