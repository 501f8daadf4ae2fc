"""Following: the frames of a run, from the run itself or from the session's log.

A frame's id is ``invocation:n``: n is the number of the stored event among those of its invocation in the log, and for
a partial event that of the stored event before it. So any process can tell what a client has not seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from pydantic_core import to_json

from newel.claims.leasing import is_leasing
from newel.runs import Run, RunStatus
from newel.runs.run import WINDOW
from newel.server.kinds import EventBus
from newel.server.operations.load import LOAD
from newel.server.places import Place
from newel.server.refusals import logged, refusal_of
from newel.server.wire import Wire
from newel.sessions.contract import SessionStore
from newel.sessions.watching import Watch, watched
from newel_kernel import BaseSessionService, Event, Session, SessionNotFoundError, seam

Frames = AsyncGenerator[bytes, None]
#: How soon it is seen that this process is about to end, and how long the bus must have been quiet before a run that is
#: over has nothing more to say, in seconds.
_CUT_SECONDS = _QUIET_SECONDS = 0.3
_CUT = "the server has ended before the run: come back with Last-Event-ID"
#: The last frame of a stream that ends because the server does.
CUT = b"data: " + to_json({"error": _CUT, "code": 503}) + b"\n\n"


class Log:
    """The events of one invocation in a session's log, with their numbers."""

    __slots__ = ("_store", "_where", "count", "invocation", "position")

    def __init__(self, store: BaseSessionService, where: Place, invocation: str) -> None:
        self._store = store
        self._where = where
        self.invocation = invocation
        #: How many events of the session it has seen, and how many of them are the invocation's.
        self.position = self.count = 0

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
    end of a run that the server has cut (`is_cut`).
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
        if is_cut() and run.status is RunStatus.CANCELLED:
            yield CUT
    except Exception as error:
        if writer is None and raises:
            raise
        yield failure(error)
    finally:
        LOAD.streams -= 1


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


async def replay(
    store: BaseSessionService,
    where: Place,
    wire: Wire,
    invocation: str,
    after: int,
    bus: EventBus | None = None,
    *,
    is_cut: Callable[[], bool] = bool,
    is_queued: Callable[[], Awaitable[bool]] | None = None,
) -> Frames:
    """The frames of an invocation after number `after`, from the log, as long as another process runs it.

    Partial events come by the bus, if there is one. A frame says that this process ends first (`is_cut`). `is_queued`
    is asked whether the run is to go on although no process has the session.
    """
    yield b""
    async with (
        watched(store, **where) as watch,
        aclosing(
            _replayed(store, where, wire, Log(store, where, invocation), after, bus, watch, is_cut, is_queued)
        ) as frames,
    ):
        async for frame in frames:
            yield frame


async def _replayed(
    store: BaseSessionService,
    where: Place,
    wire: Wire,
    log: Log,
    after: int,
    bus: EventBus | None,
    watch: Watch,
    is_cut: Callable[[], bool],
    is_queued: Callable[[], Awaitable[bool]] | None,
) -> Frames:
    while True:
        goes_on = is_queued is not None and await is_queued()  # before the log is read: what came until then counts
        events, session = await log.after(after)
        for number, event in events:
            if event.author != "user":
                yield _written(wire, event, _head(log.invocation, number))
        if not goes_on and not _is_run(store, session):
            return
        if is_cut():
            yield CUT
            return
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
            elif (number := log.take(event)) is not None and number > after and event.author != "user":
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
