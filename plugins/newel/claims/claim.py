"""Claim: the use of a session by one run of this process."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from newel.claims.errors import SessionBusyError
from newel.claims.settings import Settings
from newel.runs.abort import Ending
from newel_kernel import seam

if TYPE_CHECKING:
    from newel_kernel import Admission

#: How many event-loop steps a run gets to end, after its caller has left without closing it.
_GRACE = 3
# Held for operations on the dictionaries only, never across a wait.
_lock = threading.Lock()
#: The identity of a store -> its claims, for as long as the store lives.
_tables: dict[int, dict[Hashable, Claim]] = {}


class Claim:
    """A use's claim of a session of a store, from `take` to `end`."""

    __slots__ = ("_admission", "_claims", "_over", "_waiting", "_where", "ending", "task")

    def __init__(self, claims: dict[Hashable, Claim], where: Hashable, admission: Admission) -> None:
        self._claims = claims
        self._where = where
        self._admission = admission
        self._over = False
        self._waiting: Sequence[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = ()
        #: The task in which the run began; kept even if this runner refuses runs, as another one of the store may wait.
        self.task = asyncio.current_task()
        #: What ends the run from outside, if anything can.
        self.ending: Ending | None = admission.held  # type: ignore[assignment]  # the gate has put it there

    @property
    def closing(self) -> bool:
        """Whether the run is already ending, so that it is safe to wait for its end."""
        return self._admission.ending

    @property
    def is_own(self) -> bool:
        """Whether the run began in the current task: it would wait for itself."""
        return self.task is not None and self.task is asyncio.current_task()

    def take(self) -> bool:
        """Claim the session; return whether no other run has it."""
        return self._claims.setdefault(self._where, self) is self

    def holder(self) -> Claim | None:
        """The claim of the run that has the session."""
        return self._claims.get(self._where)

    def end(self) -> None:
        """Free the session."""
        if self._over:
            return
        self._over = True
        del self._claims[self._where]
        for loop, future in self._waiting:  # later waiters see `_over`
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, future)

    def interrupt(self) -> None:
        """Ask the run to end."""
        if self.ending is not None and self.ending.is_interruptible:
            self.ending.end()

    async def ended(self, seconds: float) -> bool:
        """Wait at most `seconds` for the end; return whether it came."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with _lock:
            self._waiting = [*self._waiting, (loop, future)]
        if self._over:
            return True
        try:
            async with asyncio.timeout(
                seconds
            ):  # `wait_for` of Python 3.11 loses a cancellation that comes with the end
                await future
        except TimeoutError:
            return False
        return True


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def table_of(store: object) -> dict[Hashable, Claim]:
    """The claims of a store's sessions, which all runners of this process share."""
    key = id(store)
    if (table := _tables.get(key)) is not None:
        return table
    with _lock:
        if key not in _tables:
            _tables[key] = {}
            with suppress(TypeError):  # no weak references: the table stays, and empties with its runs
                weakref.finalize(store, _tables.pop, key, None).atexit = False
        return _tables[key]


def is_claimed(store: object, app_name: str, user_id: str, session_id: str) -> bool:
    """Whether a run of this process has the session."""
    return (app_name, user_id, session_id) in table_of(store)


def is_claimed_here(store: object, app_name: str, user_id: str, session_id: str) -> bool:
    """Whether a run in the current task has the session."""
    claim = table_of(store).get((app_name, user_id, session_id))
    return claim is not None and claim.is_own


async def wait(claim: Claim, admission: Admission, settings: Settings) -> None:
    """Take a claim as the settings say if another run has the session; SessionBusyError if that run keeps it."""
    end = seam.monotonic() + settings.wait_seconds
    steps = 0
    while not claim.take():
        holder = claim.holder()
        if steps < _GRACE:  # a run whose caller abandoned its events closes as soon as the loop continues
            steps += 1
            await asyncio.sleep(0)
        elif holder is not None and not await _outlast(holder, settings, end):
            raise SessionBusyError.of(admission.session_id)


async def _outlast(holder: Claim, settings: Settings, end: float) -> bool:
    """Wait for the holder's end, as the settings say; return whether it came."""
    if not holder.closing:
        if holder.is_own or settings.busy in ("refuse", "steer"):  # a run that waits for itself never ends
            return False
        if settings.busy == "interrupt":
            holder.interrupt()
    return await holder.ended(max(end - seam.monotonic(), 0.001))
