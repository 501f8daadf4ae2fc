"""Engine runs: with an engine configured, the server submits its runs and follows them, and workers run them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from newel.engines import OVER, RunNotFoundError, RunRecord, RunState, SubmittedRun
from newel.runners import Runner
from newel.runs import Run
from newel.runs.run import WINDOW
from newel.server.following import listen
from newel.server.places import Place
from newel.sessions.contract import SessionStore
from newel_kernel import Event, Json, Session, seam

if TYPE_CHECKING:
    from newel.server.state import State

#: How often it is looked whether a run is over of which the bus tells nothing, in seconds.
_POLL_SECONDS = 0.3


async def submitted(
    server: State, runner: Runner, where: Place, message: Any, invocation_id: str | None, **options: Any
) -> Run:
    """A run that is submitted, as one of this process that follows it: to cancel it cancels the run at its worker.

    The tenant is the user: nobody takes the workers for all.
    """
    user_id, session_id = where["user_id"], where["session_id"]
    session = await server.services.session.open(**where)
    run = await runner.submit(
        user_id=user_id,
        session_id=session_id,
        new_message=message,
        invocation_id=invocation_id,
        tenant=user_id[:200],
        **options,
    )
    # An answer belongs to a run that has begun: only what comes after it is news.
    begun = _has(session, run.invocation_id) if invocation_id is None or message is None else False
    after = len(session.events) if session is not None and begun else 0

    async def stored() -> list[Event]:
        whole = await server.services.session.get_session(**where)
        return [*whole.events] if whole is not None else []

    events = _events(server, run, where, after, streams=bool(options.get("streaming")))
    return runner.runs.start(_cancelling(server, run, events), user_id, session_id, stored)


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
    """The events of a run behind the first `after` of its session, the partial ones as the bus tells them."""
    position, store = after, server.services.session
    if streams and server.bus is not None and isinstance(store, SessionStore):
        heard: asyncio.Queue[Event] = asyncio.Queue(WINDOW)
        listening = seam.spawn(listen(server.bus.follow(store, **where, after=after), heard), name="bus")
        try:
            while not listening.done():
                try:
                    async with asyncio.timeout(_POLL_SECONDS):
                        event = await heard.get()
                except TimeoutError:
                    if await _is_left(run):
                        break
                    continue
                position += not event.partial
                if event.invocation_id == run.invocation_id:
                    yield event
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
    async with aclosing(run.follow(position)) as rest:  # it knows when nothing more comes
        async for _, event in rest:
            yield event


async def _is_left(run: SubmittedRun) -> bool:
    state = (await run.record()).state
    return state in OVER or state is RunState.PAUSED


async def _record_of(server: State, where: Place, invocation_id: str) -> RunRecord | None:
    """What the engine knows about a run of the session; None if it has no such run."""
    if server.engine is None:
        return None
    record = await server.engine.record(f"{where['app_name']}:{invocation_id}")
    if record is None or (record.spec.user_id, record.spec.session_id) != (where["user_id"], where["session_id"]):
        return None
    return record


async def is_under_way(server: State, where: Place, invocation_id: str) -> bool:
    """Whether the engine has the run, and it is neither over nor waits for an answer."""
    record = await _record_of(server, where, invocation_id)
    return record is not None and record.state not in OVER and record.state is not RunState.PAUSED


async def cancelled(server: State, where: Place, invocation_id: str) -> Json | None:
    """Cancel a run that other processes have; None if the engine has no such run of the session."""
    record = await _record_of(server, where, invocation_id)
    if record is None or record.state in OVER:
        return None
    runner = await server.runner(where["app_name"])
    try:
        await runner.cancel_run(user_id=where["user_id"], session_id=where["session_id"], invocation_id=invocation_id)
    except RunNotFoundError:
        return None
    return {"id": invocation_id, "invocationId": invocation_id, "status": "cancelled"}
