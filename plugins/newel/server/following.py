"""Following: the frames of a run, from the run itself or from the session's log.

A frame's id is ``invocation:n``: n is the number of the stored event among those of its invocation in the log, and for
a partial event that of the stored event before it. So any process can tell what a client has not seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from pydantic_core import to_json

from newel.claims.leasing import is_leasing
from newel.engines.endings import RunFailedError
from newel.policies.failure_events import is_failure
from newel.runs import Run
from newel.runs.run import WINDOW
from newel.server.kinds import EventBus
from newel.server.operations.load import LOAD
from newel.server.places import Place
from newel.server.refusals import Refusal, logged, refusal_of
from newel.server.wire import Wire
from newel.sessions.contract import SessionStore
from newel.sessions.watching import Watch, watched
from newel_kernel import BaseSessionService, Event, Session, SessionNotFoundError, seam

Frames = AsyncGenerator[bytes, None]
#: How soon it is seen that this process is about to end, and how long the bus must have been quiet before a run that is
#: over has nothing more to say, in seconds.
_CUT_SECONDS = _QUIET_SECONDS = 0.3
_CUT = "the server has ended before the run: come back with Last-Event-ID, or send a message to go on"


class Log:
    """The events of one invocation in a session's log, with their numbers."""

    __slots__ = ("_store", "_where", "count", "failure", "invocation", "position")

    def __init__(self, store: BaseSessionService, where: Place, invocation: str) -> None:
        self._store = store
        self._where = where
        self.invocation = invocation
        #: How many events of the session it has seen, and how many of them are the invocation's.
        self.position = self.count = 0
        #: The invocation's last event, if that says that it has failed.
        self.failure: Event | None = None

    async def number(self, event: Event) -> int:
        """The number of an event that is stored and was not asked for before."""
        session = await self._store.open(**self._where)
        for number, one in self._next(session.events if session is not None else ()):
            if one.id == event.id:
                return number
        return self.count

    def take(self, event: Event) -> int | None:
        """The number of the session's next event, which somebody else has read; None: it is of another invocation."""
        self.position += 1
        if event.invocation_id != self.invocation:
            return None
        self.count += 1
        self.failure = event if is_failure(event) else None
        return self.count

    async def after(self, number: int) -> tuple[list[tuple[int, Event]], Session]:
        """The events that were not asked for before and whose numbers are higher, and the session."""
        session = await self._store.open(**self._where)
        if session is None:
            raise SessionNotFoundError(f"there is no session {self._where['session_id']!r}")
        return [one for one in self._next(session.events) if one[0] > number], session

    def _next(self, events: Sequence[Event]) -> Iterator[tuple[int, Event]]:
        while self.position < len(events):
            event = events[self.position]
            if (number := self.take(event)) is not None:
                yield number, event


async def follow(
    run: Run,
    store: BaseSessionService,
    where: Place,
    wire: Wire,
    after: int = 0,
    *,
    raises: bool = True,
    is_cut: Callable[[], bool] = bool,
) -> Frames:
    """The frames of a run, those after number `after`; an empty one says that it has begun.

    An error before that is raised, unless the answer has begun (not `raises`); a later one is a frame, and so is the
    end of a run that was cancelled, or that the server has cut (`is_cut`).
    """
    writer: _Writer | None = None
    LOAD.streams += 1
    try:
        async with aclosing(run.batches()) as batches:
            async for batch in batches:
                if writer is None:
                    writer = _Writer(Log(store, where, batch[0][1].invocation_id), wire, after)
                    yield b""
                if written := await writer.frames(batch):
                    yield written
        if (ended := ending(run, is_cut())) is not None:
            yield failure(ended)
    except Exception as error:
        if writer is None and raises:
            raise
        yield failure(error)
    finally:
        LOAD.streams -= 1


def ending(run: Run, is_cut: bool) -> Exception | None:
    """What a client hears of a run that has ended without an error and before its time; None: it has ended well."""
    cancelled = run.cancelled()
    return Refusal(503, _CUT) if is_cut and cancelled is not None else cancelled


class _Writer:
    """Writes the events of a run as frames, those after number `after`."""

    __slots__ = ("_after", "_head", "_log", "_seen", "_wire")

    def __init__(self, log: Log, wire: Wire, after: int) -> None:
        self._log = log
        self._wire = wire
        self._after = after
        self._head, self._seen = b"data: ", 0

    async def frames(self, batch: Sequence[tuple[int, Event]]) -> bytes:
        """The frames of the run's next events, all in one piece."""
        written: list[bytes] = []
        after, wire = self._after, self._wire
        for _, event in batch:
            if not event.partial:
                self._seen = await self._log.number(event)
                self._head = _head(event.invocation_id, self._seen)
                if event.author != "user" and self._seen > after:
                    written.append(_written(wire, event, self._head))
            elif self._seen >= after:
                written += (self._head, wire.event(event), b"\n\n")
        return b"".join(written)


class Elsewhere:
    """What else than its log tells of a run that another process has: nothing, without an engine."""

    async def goes_on(self) -> bool:
        """Whether the run is to go on although no process has the session."""
        return False

    async def ending(self, log: Log) -> Exception | None:
        """What the run has ended with; None: it has ended well, or waits."""
        return RunFailedError(f"the run {log.invocation!r} has failed") if log.failure is not None else None


async def replay(
    store: BaseSessionService,
    where: Place,
    wire: Wire,
    invocation: str,
    after: int,
    elsewhere: Elsewhere,
    bus: EventBus | None = None,
    *,
    is_cut: Callable[[], bool] = bool,
) -> Frames:
    """The frames of an invocation after number `after`, from the log, as long as another process runs it.

    Partial events come by the bus, if there is one. How the run has ended is a frame, as in `follow`, and so is the end
    of this process (`is_cut`).
    """
    yield b""
    log = Log(store, where, invocation)
    try:
        async with (
            watched(store, **where) as watch,
            aclosing(_replayed(store, where, wire, log, after, elsewhere, bus, watch, is_cut)) as frames,
        ):
            async for frame in frames:
                yield frame
        if (ended := await elsewhere.ending(log)) is not None:
            yield failure(ended)
    except Exception as error:  # noqa: BLE001 - the answer has begun
        yield failure(error)


async def _replayed(
    store: BaseSessionService,
    where: Place,
    wire: Wire,
    log: Log,
    after: int,
    elsewhere: Elsewhere,
    bus: EventBus | None,
    watch: Watch,
    is_cut: Callable[[], bool],
) -> Frames:
    """The frames of a run's events, until it has ended or waits."""
    while True:
        goes_on = await elsewhere.goes_on()  # before the log is read: what came until then counts
        events, session = await log.after(after)
        for number, event in events:
            if _is_shown(event):
                yield _written(wire, event, _head(log.invocation, number))
        if not goes_on and not _is_run(store, session):
            return
        if is_cut():
            raise Refusal(503, _CUT)
        if bus is None or not isinstance(store, SessionStore):
            await _waited(watch, is_cut)
            continue
        try:
            async with aclosing(_heard(bus, store, where, wire, log, after, watch, is_cut)) as frames:
                async for frame in frames:
                    yield frame
        except Exception as error:  # noqa: BLE001 - a plugin boundary: only partial events are missed without it
            logged(error)
            bus = None


def _is_shown(event: Event) -> bool:
    """Whether the followers of a run get a stored event: what the user says they know, and a failure is a frame."""
    return event.author != "user" and not is_failure(event)


def _is_run(store: BaseSessionService, session: Session | None) -> bool:
    """Whether a process runs the session."""
    return session is not None and is_leasing(store) and store.holder(session) is not None


async def _heard(
    bus: EventBus,
    store: SessionStore,
    where: Place,
    wire: Wire,
    log: Log,
    after: int,
    watch: Watch,
    is_cut: Callable[[], bool],
) -> Frames:
    """The frames of what the bus tells, until no process runs the session."""
    heard: asyncio.Queue[Event | None] = asyncio.Queue(WINDOW)
    listening = seam.spawn(listen(bus.follow(store, **where, after=log.position), heard), name="bus")
    looking = seam.spawn(_looks(watch, heard, is_cut), name="looks")
    quiet = seam.monotonic() + _QUIET_SECONDS
    try:
        while not is_cut():
            if (event := await heard.get()) is None:
                if listening.done():
                    break
                if seam.monotonic() > quiet and not _is_run(store, await store.open(**where)):
                    break
                continue
            quiet = seam.monotonic() + _QUIET_SECONDS
            if event.partial:
                if event.invocation_id == log.invocation and log.count >= after:
                    yield b"".join((_head(log.invocation, log.count), wire.event(event), b"\n\n"))
            elif (number := log.take(event)) is not None and number > after and _is_shown(event):
                yield _written(wire, event, _head(log.invocation, number))
    finally:
        listening.cancel()
        looking.cancel()
        await asyncio.gather(listening, looking, return_exceptions=True)
    if not listening.cancelled() and (error := listening.exception()) is not None:
        raise error


async def _looks(watch: Watch, heard: asyncio.Queue[Event | None], is_cut: Callable[[], bool]) -> None:
    """Say when it is time to look whether the session is run, behind all that the bus has told."""
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


async def listen(events: AsyncGenerator[Event, None], heard: asyncio.Queue[Any]) -> None:
    """Hand on what the bus tells."""
    async with aclosing(events):
        async for event in events:
            await heard.put(event)


def failure(error: Exception) -> bytes:
    """The frame of an error: what it means to the client, or where the server's log says more."""
    refusal = refusal_of(error)
    if refusal is not None:
        return b"data: " + to_json({"error": refusal.detail, "code": refusal.status}) + b"\n\n"
    answer = logged(error)
    return b"data: " + to_json({"error": answer["detail"], "code": 500, "ref": answer["ref"]}) + b"\n\n"


def _written(wire: Wire, event: Event, head: bytes) -> bytes:
    """A stored event as a frame, or as two; the last one has the id."""
    *first, last = wire.frames(event)
    return b"".join([b"data: " + one + b"\n\n" for one in first] + [head, last, b"\n\n"])


def _head(invocation: str, number: int) -> bytes:
    return f"id: {invocation}:{number}\ndata: ".encode()
