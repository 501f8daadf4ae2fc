"""Following: the frames of a run of this process, and how the events of a run are numbered in the session's log.

A frame's id is ``invocation:n``: n is the number of the stored event among those of its invocation in the log, and for
a partial event that of the stored event before it. So any process can tell what a client has not seen.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing

from pydantic_core import to_json

from newel.policies.failure_events import is_failure
from newel.runs import Run
from newel.server.operations.load import LOAD
from newel.server.places import Place
from newel.server.refusals import Refusal, logged, refusal_of
from newel.server.wire import Wire
from newel_kernel import BaseSessionService, Event, Session, SessionNotFoundError

Frames = AsyncGenerator[bytes, None]
#: What a client is told whose run goes on without this process.
CUT = "the server has ended before the run: come back with Last-Event-ID, or send a message to go on"


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
    return Refusal(503, CUT) if is_cut and cancelled is not None else cancelled


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
                self._head = head(event.invocation_id, self._seen)
                if event.author != "user" and self._seen > after:
                    written.append(written_frames(wire, event, self._head))
            elif self._seen >= after:
                written += (self._head, wire.event(event), b"\n\n")
        return b"".join(written)


def failure(error: Exception) -> bytes:
    """The frame of an error: what it means to the client, or where the server's log says more."""
    refusal = refusal_of(error)
    if refusal is not None:
        return b"data: " + to_json({"error": refusal.detail, "code": refusal.status}) + b"\n\n"
    answer = logged(error)
    return b"data: " + to_json({"error": answer["detail"], "code": 500, "ref": answer["ref"]}) + b"\n\n"


def written_frames(wire: Wire, event: Event, head: bytes) -> bytes:
    """A stored event as a frame, or as two; the last one has the id."""
    *first, last = wire.frames(event)
    return b"".join([b"data: " + one + b"\n\n" for one in first] + [head, last, b"\n\n"])


def head(invocation: str, number: int) -> bytes:
    return f"id: {invocation}:{number}\ndata: ".encode()
