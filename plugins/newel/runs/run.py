"""Run: an invocation that runs in the background, where others can find and follow it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from enum import Enum
from itertools import islice

from newel_kernel import Event, NewelError, seam

Events = AsyncGenerator[Event, None]
#: How many events a run keeps for its followers, and how far it goes ahead of the fastest of them.
WINDOW = 64
#: How long a run waits for followers that are all so far behind, in seconds; then it goes on without them.
PATIENCE = 1.0
#: After how many events a run that never waits lets others run: its followers then take several at a time.
_STRIDE = 8
_log = logging.getLogger(__name__)


class RunStatus(Enum):
    """Whether a run is running, or how it ended."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunCancelledError(NewelError):
    """The run was cancelled: it has no result."""


class _Follower:
    """The place of one consumer in the run's events."""

    __slots__ = ("lags", "position")

    def __init__(self, position: int) -> None:
        self.position = position
        #: Whether the run has stopped waiting for it, until it has caught up.
        self.lags = False


class Run:
    """One invocation in a task of its own. It runs whether or not anyone follows it, until it ends or is cancelled.

    Its events are numbered from 1. `stored` reads the session's events, for followers that fell behind.
    """

    def __init__(
        self,
        events: Events,
        user_id: str,
        session_id: str,
        stored: Callable[[], Awaitable[Sequence[Event]]],
        invocation_id: str | None = None,
    ) -> None:
        self.id = seam.new_id()
        self.user_id = user_id
        self.session_id = session_id
        self._stored = stored
        self._invocation_id = invocation_id
        #: The number of the latest event, and the latest events with their numbers.
        self._count = 0
        self._recent: deque[tuple[int, Event]] = deque(maxlen=WINDOW)
        #: The id of an event that is not partial -> its number.
        self._numbers: dict[str, int] = {}
        self._last: Event | None = None
        self._followers: set[_Follower] = set()
        #: Set once there is another event, or the end; then replaced.
        self._news = asyncio.Event()
        #: Set once a follower has taken an event or has left.
        self._taken = asyncio.Event()
        self._is_cancelled = self._is_complete = False
        self._task: asyncio.Task[None] = seam.spawn(self._drive(events), name=f"run {self.id}")
        self._task.add_done_callback(self._ended)

    @property
    def status(self) -> RunStatus:
        """Whether it is running, or how it ended."""
        if not self._task.done():
            return RunStatus.RUNNING
        if not self._task.cancelled() and self._task.exception() is not None:
            return RunStatus.FAILED
        return RunStatus.DONE if self._is_complete else RunStatus.CANCELLED

    @property
    def invocation_id(self) -> str | None:
        """The id of the invocation; None before its first event, unless it was known before."""
        return self._recent[0][1].invocation_id if self._recent else self._invocation_id

    async def events(self, after: int = 0) -> Events:
        """The events after the one with number `after`, those to come as well; see `numbered`."""
        async with aclosing(self.numbered(after)) as numbered:
            async for _, event in numbered:
                yield event

    async def numbered(self, after: int = 0) -> AsyncGenerator[tuple[int, Event], None]:
        """The events after the one with number `after`, each with its number, to the end of the run.

        Any number of consumers may follow, at any time, each at its own pace: a slow one holds up no other. One that is
        more than 64 events behind reads what it missed from the session, and misses the partial events among it; their
        numbers are left out. What ends the run with an error is raised after the last event; a cancellation is not.
        """
        async with aclosing(self.batches(after, most=1)) as batches:
            async for ((number, event),) in batches:
                yield number, event

    async def batches(self, after: int = 0, *, most: int = WINDOW) -> AsyncGenerator[Sequence[tuple[int, Event]], None]:
        """The same, at most `most` at a time: all that is at hand. A consumer has taken them when it wants the next."""
        follower = _Follower(after)
        self._followers.add(follower)
        try:
            while True:
                news = self._news  # before looking: what comes meanwhile sets it
                if follower.position < self._count:
                    batch = await self._after(follower.position, most)
                    yield batch
                    self._take(follower, batch[-1][0])
                elif self._task.done():
                    break
                else:
                    await news.wait()
        finally:
            self._followers.discard(follower)
            self._taken.set()
        if (error := self._error()) is not None:
            raise error

    async def begun(self) -> None:
        """Wait for the first event, or for the end; raises what ended the run before it had one."""
        async with aclosing(self.batches(most=1)) as batches:
            await anext(batches, None)

    def cancel(self) -> None:
        """Ask the run to end: its running step is cancelled. An ended run does not change."""
        if not self._task.done():
            self._is_cancelled = True
            self._task.cancel()

    async def wait(self, seconds: float | None = None) -> None:
        """Wait for the end, however it comes, at most `seconds`."""
        await asyncio.wait([self._task], timeout=seconds)

    def when_ended(self, call: Callable[[], object]) -> None:
        """Call `call` once the run has ended."""
        self._task.add_done_callback(lambda _: call())

    async def result(self) -> Event | None:
        """Wait for the end; the last event that was a final response, or None.

        Raises what ended the run, or RunCancelledError.
        """
        await self.wait()
        if (error := self._error()) is not None:
            raise error
        if (cancelled := self.cancelled()) is not None:
            raise cancelled
        return self._last

    def cancelled(self) -> RunCancelledError | None:
        """What says that the run was cancelled, if it was."""
        if self.status is not RunStatus.CANCELLED:
            return None
        return RunCancelledError(f"the run {self.id} of the session {self.session_id!r} was cancelled")

    async def _drive(self, events: Events) -> None:
        async with aclosing(events):
            async for event in events:
                self._publish(event)
                await self._pace()
                if self._is_cancelled:  # some code has swallowed the cancellation
                    return
        self._is_complete = True

    def _publish(self, event: Event) -> None:
        self._count += 1
        self._recent.append((self._count, event))
        if not event.partial:
            self._numbers[event.id] = self._count
            if event.is_final_response():
                self._last = event
        self._news.set()
        self._news = asyncio.Event()

    async def _pace(self) -> None:
        """Let others run; wait for the fastest follower if it is a window behind, but not for long."""
        if self._count % _STRIDE == 1:  # the first event goes out at once
            await asyncio.sleep(0)
        if not self._is_ahead():
            return
        try:
            async with asyncio.timeout(PATIENCE):
                while self._is_ahead():
                    self._taken.clear()
                    await self._taken.wait()
        except TimeoutError:
            for one in self._followers:
                one.lags = True

    def _is_ahead(self) -> bool:
        behind = [self._count - one.position for one in self._followers if not one.lags]
        return bool(behind) and min(behind) >= WINDOW

    def _take(self, follower: _Follower, number: int) -> None:
        follower.position = number
        if number == self._count:
            follower.lags = False
        self._taken.set()

    async def _after(self, position: int, most: int) -> Sequence[tuple[int, Event]]:
        """At most `most` of the events after `position`, from the session if they are no longer at hand."""
        while position + 1 < (first := self._recent[0][0]):  # what came before `first` is stored by now
            stored = [(self._numbers.get(event.id, 0), event) for event in await self._stored()]
            if missed := [one for one in stored if position < one[0] < first][:most]:
                return missed
            position = first - 1
        begin = position + 1 - first
        return [*islice(self._recent, begin, begin + most)]

    def _error(self) -> BaseException | None:
        return None if self._task.cancelled() else self._task.exception()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._news.set()
        if (error := self._error()) is not None and not self._followers:
            _log.warning("the run %s failed with %s, and nobody followed it", self.id, type(error).__name__)
