"""Inference: one case run against an agent, in its own session and with its own stores."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import newel
import newel_compose
from newel import artifacts, memory, sessions
from newel.evaluation.cases.eval_case import EvalCase, Invocation
from newel.evaluation.inference.turn_recording import (
    RecordingPlugin,
    TurnRecorder,
    app_details,
    invocation_of,
    kept_spans,
    recorder,
)
from newel.evaluation.service.base_eval_service import InferenceResult, InferenceStatus
from newel.evaluation.simulation.user_simulator import Status, UserSimulator
from newel_kernel import BaseAgent, BaseSessionService, Event, RunConfig, Session, seam
from newel_types import Content, deferred

if TYPE_CHECKING:
    from newel.apps.app import App
    from newel.artifacts.base_artifact_service import BaseArtifactService
    from newel.memory.base_memory_service import BaseMemoryService
    from newel.runners import Runner
    from newel_compose import Composition

DEFAULT_APP = "EvaluationGenerator"
DEFAULT_USER = "test_user_id"
#: Sends a message to the agent; returns the turn and its events, including the user's.
Turn = Callable[[Content], Awaitable[tuple[Invocation, Sequence[Event]]]]

#: The driver of live connections loads with the first of them.
_live_conversation = deferred("newel.evaluation.inference.live_inference", "live_conversation")


@dataclass(slots=True)
class Stores:
    """The stores that cases use; each case gets a new one in place of a store that is not given."""

    session: BaseSessionService | None = None
    artifact: BaseArtifactService | None = None
    memory: BaseMemoryService | None = None


@dataclass(slots=True)
class Stage:
    """An agent, ready to run cases."""

    agent: BaseAgent
    app: App | None = None
    stores: Stores = field(default_factory=Stores)
    distribution: str | None = None
    _composition: Composition | None = None

    @property
    def composition(self) -> Composition:
        """What runs: the distribution, the app's plugins, and the plugin that records the turns."""
        if self._composition is None:
            plugins = [RecordingPlugin("evaluation_recording"), *(self.app.plugins if self.app is not None else ())]
            self._composition = newel_compose.extend(newel_compose.compose_once(self.distribution), plugins)
        return self._composition

    def runner(self, app_name: str) -> Runner:
        """A runner for one case."""
        return newel.Runner(
            app=self.app,
            node=None if self.app is not None else self.agent,
            app_name=app_name,
            composition=self.composition,
            session_service=self.stores.session or sessions.InMemorySessionService(),
            artifact_service=self.stores.artifact or artifacts.InMemoryArtifactService(),
            memory_service=self.stores.memory or memory.InMemoryMemoryService(),
        )


async def infer_case(
    stage: Stage,
    request: tuple[str, str],
    case: EvalCase,
    simulator: UserSimulator,
    session_id: str,
    live_seconds: float | None = None,
) -> InferenceResult:
    """Run the agent on a case of ``(app, set)``; a failure is a result, too.

    With `live_seconds` it runs over a live connection, and each turn may take that long.
    """
    place = case.session_input
    runner = stage.runner((place.app_name if place is not None else "") or DEFAULT_APP)
    user = (place.user_id if place is not None else "") or DEFAULT_USER
    pinned = place.session_id if place is not None else None
    result = InferenceResult.model_construct(
        app_name=request[0],
        eval_set_id=request[1],
        eval_case_id=case.eval_id,
        user_id=user,
        session_id=pinned or session_id,
        inferences=None,
        status=InferenceStatus.UNKNOWN,
        error_message=None,
        session_details=None,
    )
    try:
        session = await _open(runner, case, user, pinned, session_id)
        result.session_id = session.id
        if live_seconds is None:
            result.inferences = await _converse(partial(_turn, runner, user, session.id), simulator)
        else:
            result.inferences = await _converse_live(runner, user, session.id, simulator, live_seconds)
        result.status = InferenceStatus.SUCCESS
    except Exception as error:  # noqa: BLE001 - the agent and its tools are user code; one case fails, the others run
        result.status = InferenceStatus.FAILURE
        result.error_message = f"{type(error).__name__}: {error}"
    result.session_details = await runner.session_service.get_session(
        app_name=runner.app_name, user_id=user, session_id=result.session_id or session_id
    )
    return result


async def _open(runner: Runner, case: EvalCase, user: str, pinned: str | None, session_id: str) -> Session:
    """The session of a case: the one that it names, if that exists, else a new one."""
    service = runner.session_service
    if pinned is not None:
        session = await service.get_session(app_name=runner.app_name, user_id=user, session_id=pinned)
        if session is not None:
            return session
    state = case.session_input.state if case.session_input is not None else None
    return await service.create_session(
        app_name=runner.app_name, user_id=user, state=state or None, session_id=pinned or session_id
    )


async def _converse(turn: Turn, simulator: UserSimulator) -> list[Invocation]:
    turns: list[Invocation] = []
    events: list[Event] = []
    while True:
        message = await simulator.get_next_user_message(list(events))
        if message.status is not Status.SUCCESS or message.user_message is None:
            return turns
        invocation, own = await turn(message.user_message)
        turns.append(invocation)
        events.extend(own)


async def _converse_live(
    runner: Runner, user: str, session_id: str, simulator: UserSimulator, seconds: float
) -> list[Invocation]:
    async with _live_conversation()(runner, user, session_id, seconds) as conversation:
        return await _converse(conversation.turn, simulator)


async def _turn(runner: Runner, user: str, session_id: str, message: Content) -> tuple[Invocation, Sequence[Event]]:
    turn = TurnRecorder()
    token = recorder.set(turn)
    began = seam.monotonic()
    events: list[Event] = []
    try:
        run = runner.run_async(
            user_id=user, session_id=session_id, new_message=message, run_config=RunConfig(), yield_user_message=True
        )
        async with aclosing(run):
            async for event in run:
                if not event.partial:
                    events.append(event)
    finally:
        recorder.reset(token)
    invocation = invocation_of(message, events, app_details(turn))
    invocation.duration = seam.monotonic() - began
    invocation.model_duration, invocation.tool_duration = turn.seconds("model"), turn.seconds("tool")
    if (spans := kept_spans.get()) is not None:
        spans.append(turn.spans)
    return invocation, events
