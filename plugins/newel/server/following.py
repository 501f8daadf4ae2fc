"""Following: the frames of a run, from the run itself or from the session's log.

A frame's id is ``invocation:n``: n is the number of the stored event among those of its invocation in the log, and for
a partial event that of the stored event before it. So any process can tell what a client has not seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from pydantic_core import to_json

from newel.claims.leasing import is_leasing
from newel.runs import Run
from newel.server.places import Place
from newel.server.refusals import logged, refusal_of
from newel.server.wire import Wire
from newel_kernel import BaseSessionService, Event, Session, SessionNotFoundError

Frames = AsyncGenerator[bytes, None]
#: How often the log of a run in another process is read, in seconds.
_POLL_SECONDS = 0.3


class Log:
    """The events of one invocation in a session's log, with their numbers."""

    __slots__ = ("_count", "_invocation", "_position", "_store", "_where")

    def __init__(self, store: BaseSessionService, where: Place, invocation: str) -> None:
        self._store = store
        self._where = where
        self._invocation = invocation
        self._position = self._count = 0

    async def number(self, event: Event) -> int:
        """The number of an event that is stored and was not asked for before."""
        session = await self._store.open(**self._where)
        for number, one in self._next(session.events if session is not None else ()):
            if one.id == event.id:
                return number
        return self._count

    async def after(self, number: int) -> tuple[list[tuple[int, Event]], Session]:
        """The events that were not asked for before and whose numbers are higher, and the session."""
        session = await self._store.open(**self._where)
        if session is None:
            raise SessionNotFoundError(f"there is no session {self._where['session_id']!r}")
        return [one for one in self._next(session.events) if one[0] > number], session

    def _next(self, events: Sequence[Event]) -> Iterator[tuple[int, Event]]:
        while self._position < len(events):
            event = events[self._position]
            self._position += 1
            if event.invocation_id == self._invocation:
                self._count += 1
                yield self._count, event


async def follow(run: Run, store: BaseSessionService, where: Place, wire: Wire, after: int = 0) -> Frames:
    """The frames of a run, those after number `after`; an empty one says that it has begun.

    An error before that is raised; a later one is a frame.
    """
    log: Log | None = None
    head, seen = b"data: ", 0
    try:
        async with aclosing(run.batches()) as batches:
            async for batch in batches:
                if log is None:
                    log = Log(store, where, batch[0][1].invocation_id)
                    yield b""
                written: list[bytes] = []
                for _, event in batch:
                    if not event.partial:
                        seen = await log.number(event)
                        head = _head(event.invocation_id, seen)
                        if event.author != "user" and seen > after:
                            written.append(_written(wire, event, head))
                    elif seen >= after:
                        written += (head, wire.event(event), b"\n\n")
                if written:
                    yield b"".join(written)
    except Exception as error:
        if log is None:
            raise
        yield failure(error)


async def replay(store: BaseSessionService, where: Place, wire: Wire, invocation: str, after: int) -> Frames:
    """The frames of an invocation after number `after`, from the log, as long as another process runs it."""
    log = Log(store, where, invocation)
    yield b""
    while True:
        events, session = await log.after(after)
        for number, event in events:
            if event.author != "user":
                yield _written(wire, event, _head(invocation, number))
        if not is_leasing(store) or store.holder(session) is None:
            return
        await asyncio.sleep(_POLL_SECONDS)


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
