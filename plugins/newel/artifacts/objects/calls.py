"""Calls: blocking calls to a server, in threads, retried while they fail for passing reasons."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from newel.artifacts.errors import ArtifactStoreUnavailableError

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
#: The number of connections that the SDKs keep.
_THREADS = 10
#: At most this many calls of one batch run at once.
_AT_ONCE = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


class Trouble(Exception):
    """A call failed in a way that may pass. The text names no address and no credential."""


class KeyExistsError(Exception):
    """An object with that key exists already."""

    #: Whether an earlier try may have put it there.
    was_retried: bool = False


class Calls:
    """Runs calls to the store `name`; one call with all its tries takes at most `patience` seconds."""

    def __init__(self, name: str, patience: float) -> None:
        self.name = name
        self.patience = patience
        self._threads: ThreadPoolExecutor | None = None
        self._pid = 0

    async def run(self, call: Callable[[], T], *, patience: float | None = None) -> T:
        """The result of `call`; an ArtifactStoreUnavailableError if there is none in time."""
        patience = self.patience if patience is None else patience
        troubles: list[str] = []
        try:
            async with asyncio.timeout(patience):
                return await self._with_retries(call, troubles)
        except TimeoutError:
            why = troubles[-1] if troubles else "no answer"
            raise ArtifactStoreUnavailableError(
                f"the artifact store {self.name} could not be reached for {patience:g} seconds ({why}): "
                f"see whether it runs, then try again"
            ) from None

    def close(self) -> None:
        """Let the threads end."""
        if self._threads is not None:
            self._threads.shutdown(wait=False)
            self._threads = None

    async def _with_retries(self, call: Callable[[], T], troubles: list[str]) -> T:
        pause = _FIRST_PAUSE
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(self._executor(), call)
            except Trouble as trouble:
                troubles.append(str(trouble))
            except KeyExistsError as error:
                error.was_retried = bool(troubles)
                raise
            await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - so that two do not collide again
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _executor(self) -> ThreadPoolExecutor:
        if self._threads is None or self._pid != os.getpid():  # a forked child has none of its parent's threads
            self._threads = ThreadPoolExecutor(_THREADS, "newel-artifacts")
            self._pid = os.getpid()
        return self._threads


class Client:
    """The client of an SDK. `make` creates it at the first call, once per process.

    The search for credentials may use the network, so the client is created in the thread of a call.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._client: Any = None
        self._pid = 0

    def get(self) -> Any:
        """The client of this process."""
        with self._lock:
            if self._client is None or self._pid != os.getpid():
                self._client = self._make()
                self._pid = os.getpid()
            return self._client

    def close(self) -> None:
        """Close its connections; the next call creates a new client."""
        if self._client is not None:
            self._client.close()
            self._client = None


async def each(items: Sequence[A], work: Callable[[A], Awaitable[B]]) -> list[B]:
    """The results of `work` for each item, in order; a few items are worked on at a time."""
    results: list[B] = []
    for start in range(0, len(items), _AT_ONCE):
        results += await asyncio.gather(*(work(item) for item in items[start : start + _AT_ONCE]))
    return results
