"""RedisGates: the gates of limits in Redis."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from hashlib import blake2b
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from newel.connections import PerLoop
from newel.limits import Turn, Waiting
from newel.limits.gates import GRACE, new_average, turn_of
from newel.sessions import StoreUnavailableError
from newel_compose import without_password
from newel_kernel import ConfigurationError, SessionError, seam
from newel_redis import limit_scripts as scripts
from newel_redis.address import read_address
from newel_redis.client import FAILURES, client_of

#: How long to wait before the second attempt, and before any, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
#: How long Redis may take to answer once, in seconds.
_ANSWER_SECONDS = 2.0
_MICRO = 1_000_000


class RedisGates:
    """See `newel.limits.Gates`: in the Redis at `url`, under keys that begin with `prefix`.

    A Redis that does not answer is asked again for `patience` seconds; then StoreUnavailableError is raised.
    """

    def __init__(self, url: str = "redis://127.0.0.1:6379/0", *, prefix: str = "newel", patience: float = 15.0) -> None:
        if not patience > 0:
            raise ConfigurationError(f"patience={patience:g}: give some seconds to wait for Redis")
        self._shown = without_password(url)
        self._prefix = prefix
        self._patience = patience
        seconds = min(patience, _ANSWER_SECONDS)
        self._loops = PerLoop(lambda: client_of(url, seconds), Redis.aclose, patience=seconds + 5)
        client_of(url, seconds)  # reports an invalid URL now

    @classmethod
    def opened(cls, uri: str) -> RedisGates:
        """The gates of ``redis://host:6379/0?prefix=shop&patience=15``."""
        url, prefix, seconds = read_address(uri, "the limits", 15.0)
        return cls(url, prefix=prefix, patience=seconds)

    async def enter(self, gate: str, ticket: str, limit: int, lease: float, waiting: Waiting) -> Turn:
        """See `Gates`. Between the two steps of one that waits it is at the gate, so that nobody overtakes it."""
        held, *numbers = await self._run(scripts.ENTER, gate, ticket, limit, lease, GRACE)
        if held:
            return Turn(True)
        line, present, average, youngest = numbers
        turn = turn_of(line, present, limit, average / _MICRO, waiting, youngest / _MICRO)
        await self._run(scripts.WAIT, gate, ticket, turn.seconds + GRACE, int(turn.away))
        return turn

    async def renew(self, gate: str, ticket: str, lease: float) -> bool:
        """See `Gates`."""
        return bool(await self._run(scripts.RENEW, gate, ticket, lease))

    async def leave(self, gate: str, ticket: str) -> None:
        """See `Gates`."""
        if stay := await self._run(scripts.LEAVE, gate, ticket):
            seconds, average = (microseconds / _MICRO for microseconds in stay)
            measured = max(round(new_average(average, seconds) * _MICRO), 1)
            await self._run(scripts.MEASURE, gate, ticket, measured)

    async def pace(self, gate: str, rate: float, most: float) -> float | None:
        """See `Gates`."""
        microseconds = await self._run(scripts.PACE, gate, "", rate, most)
        return microseconds / _MICRO if microseconds >= 0 else None

    async def close(self) -> None:
        """Disconnect from Redis in the running event loop; the next step there connects again."""
        await self._loops.close()

    async def _run(self, script: str, gate: str, *arguments: Any) -> Any:
        """The answer of a script, asked for until it comes; each may run twice without harm."""
        tag = blake2b(gate.encode(), digest_size=12).hexdigest()  # in braces: a cluster keeps the gate in one place
        keys = [f"{self._prefix}:limits:{{{tag}}}:{name}" for name in scripts.KEYS]
        ends, pause = seam.monotonic() + self._patience, _FIRST_PAUSE
        while True:
            try:
                run = self._loops.get().register_script(script)  # another runner that closes has closed the client
                return await _answered(run(keys=keys, args=arguments))
            except ResponseError as error:
                raise SessionError(f"the Redis of the limits, {self._shown}, refused a step: {error}") from error
            except FAILURES as error:
                if seam.monotonic() + pause > ends:
                    raise StoreUnavailableError(
                        f"the Redis of the limits, {self._shown}, could not be reached for {self._patience:g} seconds "
                        f"({type(error).__name__}): see whether it runs, then try again"
                    ) from error
            await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - so that two do not collide again
            pause = min(pause * 2, _LONGEST_PAUSE)


async def _answered(answer: Awaitable[Any]) -> Any:
    async with asyncio.timeout(_ANSWER_SECONDS):
        return await answer
