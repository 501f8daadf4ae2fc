"""Engine sessions: the runs of a session that an engine has, and what becomes of a message that comes meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from newel.claims.errors import SessionBusyError
from newel.claims.settings import Settings
from newel.engines import OVER, BaseEngine, RunNotFoundError, RunRecord, RunState
from newel.engines.places import place_of
from newel.questions.given_answers import open_in
from newel.runners import Runner
from newel.runs import Run
from newel.server.engine_runs import EngineRun, submitted
from newel.server.engine_steering import steered
from newel.server.places import Owner, Place
from newel.server.turns import turn
from newel.sessions.watching import watched
from newel_kernel import BaseSessionService, Json
from newel_types import Content

if TYPE_CHECKING:
    from newel.server.state import State

#: How many runs of a session are looked at, or of an app for those of a user, in each state.
_MOST_LOOKED_AT = 1000


async def begun(
    server: State, runner: Runner, where: Place, message: Content | None, invocation_id: str | None, **options: Any
) -> Run:
    """The run of a message, or of an invocation to resume, if the settings of `claims` let it have the session.

    An answer is for the run that asked, whatever else the session has. SessionBusyError if the message is refused.
    """
    claims = runner.composition.settings.get("claims")  # None: nothing keeps runs of a session apart
    is_answer = message is not None and any(part.function_response is not None for part in message.parts or ())
    if not isinstance(claims, Settings) or claims.busy == "queue" or is_answer:
        return await submitted(server, runner, where, message, invocation_id, **options)
    async with turn(server, where):
        known = [one for one in await of_session(server, where) if one.state is not RunState.PAUSED]
        others = [one.spec.invocation_id for one in known if one.spec.invocation_id != invocation_id]
        if others and claims.busy == "refuse":
            raise SessionBusyError.of(where["session_id"])
        if others and claims.busy == "steer" and message is not None and invocation_id is None:
            return steered(server, runner, where, message, **options)
        for one in others if claims.busy == "interrupt" else ():
            await _cancel(runner, where, one)
        return await submitted(server, runner, where, message, invocation_id, **options)


async def of_user(engine: BaseEngine, owner: Owner) -> list[RunRecord]:
    """The runs of a user that are not over, the newest first."""
    found = await _in_states(engine, owner, *(state for state in RunState if state not in OVER))
    return sorted(found, key=lambda one: one.submitted, reverse=True)


async def at_work(engine: BaseEngine, owner: Owner) -> set[str]:
    """The ids of a user's sessions of which a run waits for a worker or has one."""
    return {one.spec.session_id for one in await _in_states(engine, owner, RunState.QUEUED, RunState.RUNNING)}


async def _in_states(engine: BaseEngine, owner: Owner, *states: RunState) -> list[RunRecord]:
    app, found = owner["app_name"], dict[str, RunRecord]()  # one may change its state meanwhile
    for state in states:
        records = await engine.records(app_name=app, state=state, most=_MOST_LOOKED_AT)
        found |= {one.spec.key: one for one in records if one.spec.user_id == owner["user_id"]}
    return [*found.values()]


async def of_session(server: State, where: Place) -> list[RunRecord]:
    """The runs of a session that are not over, the newest first."""
    assert server.engine is not None, "who asks has looked"
    here = [one.invocation_id for one in server.runs_of(**where) if one.invocation_id is not None]
    left = await _left(server.engine, server.services.session, where, *here)
    return sorted(left, key=lambda one: one.submitted, reverse=True)


async def cancelled(server: State, where: Place, invocation_id: str) -> Json | None:
    """Cancel a run that other processes have; None if the engine has no such run of the session."""
    record = await EngineRun(server, where, invocation_id).record()
    if record is None or record.state in OVER:
        return None
    if not await _cancel(await server.runner(where["app_name"]), where, invocation_id):
        return None
    return {"id": invocation_id, "invocationId": invocation_id, "status": "cancelled"}


async def end_runs(engine: BaseEngine, store: BaseSessionService, where: Place, seconds: float) -> None:
    """Cancel the runs of a session, which is to be deleted, and wait at most `seconds` for their ends."""
    keys = [one.spec.key for one in await _left(engine, store, where)]
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), watched(store, **where) as watch:
            for key in keys:
                with suppress(RunNotFoundError):
                    await engine.cancel(key)
            for key in keys:
                while (record := await engine.record(key)) is not None and record.state not in OVER:
                    await watch.wait()


async def _cancel(runner: Runner, where: Place, invocation_id: str) -> bool:
    """Cancel a run; False if the engine has it no more."""
    try:
        await runner.cancel_run(user_id=where["user_id"], session_id=where["session_id"], invocation_id=invocation_id)
    except RunNotFoundError:
        return False
    return True


async def _left(engine: BaseEngine, store: BaseSessionService, where: Place, *ids: str) -> list[RunRecord]:
    """The runs of a session that are not over, also those of `ids` and of the log that a list may not have yet."""
    app, session = where["app_name"], await store.open(**where)
    events = session.events if session is not None else ()
    keys = [f"{app}:{id_}" for id_ in (*ids, *(one.invocation_id for one in (*open_in(events), *events[-1:])))]
    for state in (RunState.QUEUED, RunState.RUNNING):  # one that waits for its session may be in either
        records = await engine.records(app_name=app, state=state, session=where, most=_MOST_LOOKED_AT)
        keys += [one.spec.key for one in records]
    known = [await engine.record(key) for key in dict.fromkeys(keys)]  # a list may be of before
    return [one for one in known if one is not None and one.state not in OVER and place_of(one.spec) == where]
