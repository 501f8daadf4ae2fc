"""PooledRenewal: renews leases over a connection of its own, in an event loop of the keeper's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from newel.sessions.errors import StoreUnavailableError
from newel.sessions.stored import clockwork
from newel.sessions.stored.leases import Lease
from newel.sessions.stored.writes import Renew, Renewed
from newel_kernel import SessionError

if TYPE_CHECKING:
    from newel.sessions.stored.pooled import Pool

#: Loops of parent processes. A child must not even collect them: closing one would unregister the parent's sockets.
_abandoned: list[object] = []
_CLOSE_SECONDS = 2.0


class PooledRenewal:
    """Renews the leases of a server's database (see `Renewal`)."""

    def __init__(
        self, name: str, make_pool: Callable[[], Pool], run: Callable[[Pool, Renew], Coroutine[Any, Any, Renewed]]
    ) -> None:
        self._name = name
        self._make_pool = make_pool
        self._run = run
        self._runner: asyncio.Runner | None = None
        self._pool: Pool | None = None
        #: The attempt under way and its loop, and whether none may be: the process is about to fork.
        self._attempt: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._is_resting = False

    def renew(self, leases: Sequence[Lease], seconds: float) -> Renewed:
        """Renew them in one transaction, which waits for no other."""
        if self._runner is None:
            self._runner = clockwork.Runner()
        try:
            return self._runner.run(self._renew(leases, seconds))
        except SessionError:
            raise
        except Exception as error:
            self._close_pool()  # the loop stays: what a driver's thread is doing ends there
            raise StoreUnavailableError(
                f"the session store {self._name} did not answer in time: {type(error).__name__}: {error}"
            ) from error

    async def _renew(self, leases: Sequence[Lease], seconds: float) -> Renewed:
        attempt = asyncio.ensure_future(self._asked(leases))
        self._attempt = asyncio.get_running_loop(), attempt
        if self._is_resting:  # asked for before there was an attempt to end
            attempt.cancel()
        try:
            async with asyncio.timeout(seconds):
                return await attempt
        except asyncio.CancelledError as error:
            raise StoreUnavailableError("the process forks: the leases are renewed after that") from error
        finally:
            self._attempt = None

    async def _asked(self, leases: Sequence[Lease]) -> Renewed:
        if self._pool is None:
            self._pool = self._make_pool()
        return await self._run(self._pool, Renew(leases))

    def close(self) -> None:
        """See `Renewal`."""
        self._close_pool()
        runner, self._runner = self._runner, None
        if runner is not None:
            with suppress(Exception):
                runner.close()

    def _close_pool(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None and self._runner is not None:
            with suppress(Exception):
                self._runner.run(_closed(pool))

    def rest(self) -> None:
        """See `Renewal`."""
        self._is_resting = True
        if (attempt := self._attempt) is not None:
            loop, task = attempt
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(task.cancel)

    def after_fork_in_parent(self) -> None:
        """See `Renewal`."""
        self._is_resting = False

    def after_fork_in_child(self) -> None:
        """See `Renewal`."""
        self._is_resting, self._attempt = False, None
        _abandoned.append((self._runner, self._pool))
        self._runner = self._pool = None


async def _closed(pool: Pool) -> None:
    async with asyncio.timeout(_CLOSE_SECONDS):
        await pool.close()
