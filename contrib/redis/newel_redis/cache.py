"""Cache: the values that Redis has under some keys, or nothing if it does not answer soon."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeVar

from redis.asyncio import Redis

from newel.connections import PerLoop
from newel_kernel import ConfigurationError, seam
from newel_redis.client import FAILURES, REST, client_of

T = TypeVar("T")


class _Loop:
    """The client and the tasks of one event loop."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self.tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.client.aclose()


class Cache:
    """Keys with bytes in the Redis at `url`. Nothing here raises: if Redis fails, the store serves the caller."""

    def __init__(self, url: str, *, ttl: float, patience: float) -> None:
        if ttl < 1 or patience <= 0:
            raise ConfigurationError(f"ttl={ttl:g}, patience={patience:g}: give a ttl of 1 or more and some patience")
        self._ttl = int(ttl)
        self._patience = patience
        self._loops = PerLoop(lambda: _Loop(client_of(url, patience)), _Loop.close, patience=patience + 5)
        self._off_until = 0.0
        client_of(url, patience)  # reports an invalid URL now

    async def read(self, keys: Sequence[str]) -> Sequence[bytes | None]:
        """The values under the keys; None if there is no value."""
        values = await self._answer(self._loops.get().client.mget(keys))
        if not isinstance(values, list) or len(values) != len(keys):
            return [None] * len(keys)
        return [one if isinstance(one, bytes) else None for one in values]

    def write(self, entries: Mapping[str, bytes]) -> None:
        """Write the values in the background."""
        mine = self._loops.get()
        task = seam.spawn(self._written(mine.client, entries))
        mine.tasks.add(task)
        task.add_done_callback(mine.tasks.discard)

    async def _written(self, client: Redis, entries: Mapping[str, bytes]) -> None:
        for key, value in entries.items():
            if await self._answer(client.set(key, value, ex=self._ttl)) is None:
                return

    async def forget(self, keys: Sequence[str]) -> None:
        """Delete the keys."""
        if keys:
            await self._answer(self._loops.get().client.unlink(*keys))

    async def close(self) -> None:
        """Finish the writes under way, and disconnect."""
        await self._loops.close()

    async def _answer(self, question: Awaitable[T]) -> T | None:
        """The answer; None if none comes in time, and for `REST` seconds after that without asking."""
        if time.monotonic() < self._off_until:
            if asyncio.iscoroutine(question):
                question.close()
            return None
        try:
            async with asyncio.timeout(self._patience):
                return await question
        except FAILURES:
            self._off_until = time.monotonic() + REST
            return None
