"""Replaying: the frames of a run that this process does not run, from the session's log and from the bus, if any."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from newel.claims.leasing import is_leasing
from newel.engines.endings import RunFailedError
from newel.policies.failure_events import is_failure
from newel.runs.run import WINDOW
from newel.server.following import CUT, Frames, Log, failure, head, written_frames
from newel.server.kinds import EventBus
from newel.server.places import Place
from newel.server.refusals import Refusal, logged
from newel.server.wire import Wire
from newel.sessions.contract import SessionStore
from newel.sessions.watching import Watch, watched
from newel_kernel import BaseSessionService, Event, Session, seam

#: How soon it is seen that this process is about to end, and how late the bus may tell what a run that is over has
#: stored, in seconds.
_CUT_SECONDS = _LATE_SECONDS = 0.3


class Elsewhere:
    """What else than its log tells of a run that another process has: nothing, without an engine."""

    async def goes_on(self) -> bool:
        """Whether the run is to go on although no process has the session."""
        return False

    async def ending(self, log: Log) -> Exception | None:
        """What the run has ended with; None: it has ended well, or waits."""
        return RunFailedError(f"the run {log.invocation!r} has failed") if log.failure is not None else None


@dataclass(frozen=True, slots=True)
class SessionBus:
    """What the bus tells of one session."""

    bus: EventBus
    store: SessionStore
    where: Place

    async def events(
        self, after: int, is_over: Callable[[], Awaitable[bool]], is_cut: Callable[[], bool] = bool
    ) -> AsyncGenerator[Event, None]:
        """The events after the first `after`, until a run is over, or this process is about to end.

        It is looked whether the run is over each time the session changes, behind all that the bus has told until then.
        """
        heard: asyncio.Queue[Event | None] = asyncio.Queue(WINDOW)
        async with watched(self.store, **self.where) as watch:
            listening = seam.spawn(self._listen(after, heard), name="bus")
            listening.add_done_callback(lambda _: None if heard.full() else heard.put_nowait(None))
            looking = seam.spawn(_looks(watch, heard, is_cut), name="looks")
            over = 0.0
            try:
                while not is_cut() and not (listening.done() and heard.empty()):
                    if (event := await heard.get()) is not None:
                        after += not event.partial
                        yield event
                    elif await is_over():
                        over = over or seam.monotonic()
                    if over and (seam.monotonic() > over + _LATE_SECONDS or await self._count() <= after):
                        break
            finally:
                listening.cancel()
                looking.cancel()
                await asyncio.gather(listening, looking, return_exceptions=True)
        if not listening.cancelled() and (error := listening.exception()) is not None:
            raise error

    async def _count(self) -> int:
        session = await self.store.open(**self.where)
        return len(session.events) if session is not None else 0

    async def _listen(self, after: int, heard: asyncio.Queue[Event | None]) -> None:
        async with aclosing(self.bus.follow(self.store, **self.where, after=after)) as events:
            async for event in events:
                await heard.put(event)


async def _looks(watch: Watch, heard: asyncio.Queue[Event | None], is_cut: Callable[[], bool]) -> None:
    """Say when it is time to look at the run, behind all that the bus has told."""
    while True:
        await _waited(watch, is_cut)
        await heard.put(None)


async def _waited(watch: Watch, is_cut: Callable[[], bool]) -> None:
    """Wait until it is time to look at the session, or this process is about to end."""
    waiting = seam.spawn(watch.wait())
    try:
        while not waiting.done() and not is_cut():
            await asyncio.wait([waiting], timeout=_CUT_SECONDS)
    finally:
        waiting.cancel()


@dataclass(slots=True)
class Replay:
    """An invocation of a session that another process may run, for a client that has seen it up to number `after`.

    Partial events come by the bus, if there is one. How the run has ended is a frame, as in `follow`, and so is the end
    of this process (`is_cut`).
    """

    store: BaseSessionService
    where: Place
    invocation: str
    after: int
    wire: Wire
    elsewhere: Elsewhere
    bus: EventBus | None = None
    is_cut: Callable[[], bool] = bool

    async def frames(self) -> Frames:
        """An empty frame, and those after number `after` as long as the run goes on."""
        yield b""
        log = Log(self.store, self.where, self.invocation)
        try:
            async with watched(self.store, **self.where) as watch, aclosing(self._replayed(log, watch)) as frames:
                async for frame in frames:
                    yield frame
            if (ended := await self.elsewhere.ending(log)) is not None:
                yield failure(ended)
        except Exception as error:  # noqa: BLE001 - the answer has begun
            yield failure(error)

    async def _replayed(self, log: Log, watch: Watch) -> Frames:
        """The frames of the run's events, until it has ended or waits."""
        while True:
            goes_on = await self.elsewhere.goes_on()  # before the log is read: what came until then counts
            events, session = await log.after(self.after)
            for number, event in events:
                if _is_shown(event):
                    yield written_frames(self.wire, event, head(log.invocation, number))
            if not goes_on and not self._is_run(session):
                return
            if self.is_cut():
                raise Refusal(503, CUT)
            if self.bus is None or not isinstance(self.store, SessionStore):
                await _waited(watch, self.is_cut)
                continue
            try:
                async with aclosing(self._heard(log, SessionBus(self.bus, self.store, self.where))) as frames:
                    async for frame in frames:
                        yield frame
            except Exception as error:  # noqa: BLE001 - a plugin boundary: only partial events are missed without it
                logged(error)
                self.bus = None

    async def _heard(self, log: Log, bus: SessionBus) -> Frames:
        """The frames of what the bus tells, until the run has ended or waits."""
        async with aclosing(bus.events(log.position, self._is_over, self.is_cut)) as events:
            async for event in events:
                if event.partial:
                    if event.invocation_id == log.invocation and log.count >= self.after:
                        yield b"".join((head(log.invocation, log.count), self.wire.event(event), b"\n\n"))
                elif (number := log.take(event)) is not None and number > self.after and _is_shown(event):
                    yield written_frames(self.wire, event, head(log.invocation, number))

    async def _is_over(self) -> bool:
        return not await self.elsewhere.goes_on() and not self._is_run(await self.store.open(**self.where))

    def _is_run(self, session: Session | None) -> bool:
        """Whether a process runs the session."""
        return session is not None and is_leasing(self.store) and self.store.holder(session) is not None


def _is_shown(event: Event) -> bool:
    """Whether the followers of a run get a stored event: what the user says they know, and a failure is a frame."""
    return event.author != "user" and not is_failure(event)
