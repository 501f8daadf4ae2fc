"""Rehearsal: a turn up to its first model call, on a copy of its session. Nothing is stored, no model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from newel.explanation.explanation import Explanation
from newel.explanation.instruments import record
from newel.explanation.recorder import Recorder
from newel.models.contract import BaseLlm
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_kernel import LlmRequest, LlmResponse, Session, seam


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What came of a rehearsed turn."""

    #: Of the requests that were begun, the oldest first.
    explanations: list[Explanation]
    #: What ended the turn before it came to a model.
    error: Exception | None = None


async def rehearse(runner: Runner, user_id: str, session_id: str, new_message: Any) -> Rehearsal:
    """Run a turn until it asks a model; then it is cancelled.

    Callbacks before the first model call run, and toolsets are asked for their tools. The runner's session store
    should be a copy (see `copied`): the turn's message is stored in it.
    """
    reached = asyncio.Event()

    async def waiting(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        reached.set()
        await asyncio.Event().wait()
        yield LlmResponse()

    recorder = Recorder()
    record(runner, recorder, waiting)
    turn = seam.spawn(_run(runner, user_id, session_id, new_message))
    arrival = seam.spawn(reached.wait())
    try:
        await asyncio.wait((turn, arrival), return_when=asyncio.FIRST_COMPLETED)
        explanations = recorder.explanations()
    finally:
        arrival.cancel()
        error = await _ended(turn)
    return Rehearsal(explanations, None if reached.is_set() else error)


async def _run(runner: Runner, user_id: str, session_id: str, new_message: Any) -> None:
    run = runner.run_async(user_id=user_id, session_id=session_id, new_message=new_message)
    async with aclosing(run):
        async for _ in run:
            pass


async def _ended(turn: asyncio.Future[None]) -> Exception | None:
    """Cancel the turn if it still runs, and wait for its end; what it raised by itself."""
    turn.cancel()
    await asyncio.wait((turn,))
    error = None if turn.cancelled() else turn.exception()
    return error if isinstance(error, Exception) else None


async def copied(session: Session | None, app_name: str, user_id: str, session_id: str) -> InMemorySessionService:
    """A store in memory with a copy of a session, or with an empty one."""
    store = InMemorySessionService()
    copy = await store.create_session(
        app_name=app_name,
        user_id=user_id,
        session_id=session_id,
        state=dict(session.state) if session is not None else None,
    )
    for event in session.events if session is not None else ():
        await store.append_event(copy, event)
    return store
