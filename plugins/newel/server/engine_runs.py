"""Engine runs: with an engine configured, the server submits its runs and follows them, and workers run them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from newel.engines import RunRecord, SubmittedRun
from newel.engines.endings import ending_of
from newel.engines.following import is_left
from newel.engines.places import place_of
from newel.policies.failure_events import is_failure
from newel.runners import Runner
from newel.runs import Run, RunRefusedError
from newel.server.following import Log
from newel.server.places import Place
from newel.server.refusals import logged
from newel.server.replaying import Elsewhere, SessionBus
from newel.sessions.contract import SessionStore
from newel_kernel import Event, Session

if TYPE_CHECKING:
    from newel.server.state import State


async def submitted(
    server: State, runner: Runner, where: Place, message: Any, invocation_id: str | None = None, **options: Any
) -> Run:
    """A run that is submitted, as one of this process that follows it: to cancel it cancels the run at its worker.

    RunRefusedError if this process takes no more runs; nothing is left submitted then.
    """
    runner.runs.admit()
    run, events = await submitted_events(server, runner, where, message, invocation_id, **options)
    rest = partial(stored, server, where)
    try:
        return runner.runs.start(events, where["user_id"], where["session_id"], rest, run.invocation_id)
    except RunRefusedError:  # others were quicker
        await run.cancel()
        raise


async def submitted_events(
    server: State, runner: Runner, where: Place, message: Any, invocation_id: str | None = None, **options: Any
) -> tuple[SubmittedRun, AsyncGenerator[Event, None]]:
    """A run that is submitted, and its events; whoever cancels them cancels it.

    The tenant is the user: nobody takes the workers for all.
    """
    session = await server.services.session.open(**where)
    run = await runner.submit(
        user_id=where["user_id"],
        session_id=where["session_id"],
        new_message=message,
        invocation_id=invocation_id,
        tenant=where["user_id"][:200],
        **options,
    )
    # An answer belongs to a run that has begun: only what comes after it is news.
    begun = _has(session, run.invocation_id) if invocation_id is None or message is None else False
    after = len(session.events) if session is not None and begun else 0
    events = _events(server, run, where, after, streams=bool(options.get("streaming")))
    return run, _cancelling(server, run, events)


async def stored(server: State, where: Place) -> list[Event]:
    """The events of a session."""
    session = await server.services.session.get_session(**where)
    return [*session.events] if session is not None else []


def _has(session: Session | None, invocation_id: str) -> bool:
    return session is not None and any(event.invocation_id == invocation_id for event in session.events)


async def _cancelling(
    server: State, run: SubmittedRun, events: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """`events`; whoever cancels them cancels the run, unless it is the server that ends."""
    try:
        async with aclosing(events):
            async for event in events:
                yield event
    except asyncio.CancelledError:
        if not server.cuts:
            await run.cancel()
        raise


async def _events(
    server: State, run: SubmittedRun, where: Place, after: int, *, streams: bool
) -> AsyncGenerator[Event, None]:
    """The events of a run behind the first `after` of its session; raises what it has ended with, as a run here does.

    The partial events are those that the bus tells of.
    """
    position, elsewhere = after, EngineRun(server, where, run.invocation_id)
    if streams and server.bus is not None and isinstance(store := server.services.session, SessionStore):
        told = SessionBus(server.bus, store, where).events(after, elsewhere.is_over)
        try:
            async with aclosing(told):
                async for event in told:
                    position += not event.partial
                    if event.invocation_id == run.invocation_id and not is_failure(event):
                        yield event
        except Exception as error:  # noqa: BLE001 - a plugin boundary: only partial events are missed without it
            logged(error)
    async with aclosing(run.follow(position)) as rest:  # it knows when nothing more comes
        async for _, event in rest:
            if not is_failure(event):
                yield event
    if (record := await elsewhere.record()) is not None and (ended := ending_of(record)) is not None:
        raise ended


class EngineRun(Elsewhere):
    """A run of a session as the engine knows it."""

    def __init__(self, server: State, where: Place, invocation_id: str) -> None:
        self._server = server
        self._where = where
        self._key = f"{where['app_name']}:{invocation_id}"

    async def record(self) -> RunRecord | None:
        """What the engine knows; None if the session has no such run there."""
        where, engine = self._where, self._server.engine
        record = await engine.record(self._key) if engine is not None else None
        return record if record is not None and place_of(record.spec) == where else None

    async def goes_on(self) -> bool:
        """Whether the run is neither over nor waits for an answer."""
        record = await self.record()
        return record is not None and not await is_left(record, self._server.services.session, self._where)

    async def is_over(self) -> bool:
        """Whether nothing more comes of it for now."""
        return not await self.goes_on()

    async def ending(self, log: Log) -> Exception | None:
        """What the engine says, which knows more than the log."""
        record = await self.record()
        return ending_of(record) if record is not None else await super().ending(log)
