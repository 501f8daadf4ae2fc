"""Steps: each call of a model, and of the tools that one answer calls, is an activity of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import Replayer
from tests.contrib.temporal.servers import BOUND, Server, a_spec, until
from tests.contrib.temporal.varied import SECRET, Maker, compared

from newel.agents import LlmAgent
from newel.engines import (
    OVER,
    AgentWork,
    BaseEngine,
    InlineEngine,
    InvocationSpec,
    Outcome,
    PostponedError,
    RunState,
    Stepping,
)
from newel.engines.stepping import Call
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import LongRunningFunctionTool
from newel_kernel import Event
from newel_temporal import TemporalEngine
from newel_temporal import order as known
from newel_temporal.activities import Runs
from newel_temporal.worker import TemporalWorker
from newel_temporal.workflow import Run
from newel_types import FunctionCall

NUMBERS = (3, 6, 11, 14, 20)


def _agents() -> list[object]:
    return [*(Maker(number).agent() for number in NUMBERS), Maker(0).graph()]


async def _events(engine: BaseEngine, agents: Sequence[object]) -> list[list[Event]]:
    """What the logs have after a run of each agent, all at once."""
    store, runners = InMemorySessionService(), []
    for number, agent in enumerate(agents):
        name, root = f"varied{number}", {"agent": agent} if isinstance(agent, LlmAgent) else {"node": agent}
        runners.append(
            Runner(app_name=name, **root, session_service=store, engine=engine, auto_create_session=True)  # type: ignore[arg-type]
        )
    work = AgentWork(runners)
    worker = engine.worker(work, work.queues, concurrency=len(agents))
    await worker.start()
    try:
        async with asyncio.timeout(2 * BOUND):
            runs = [await one.submit(user_id="u", session_id="s", new_message="go") for one in runners]
            await asyncio.gather(*(run.wait() for run in runs))
    finally:
        await worker.drain(0)
    sessions = [await store.get_session(app_name=one.app_name, user_id="u", session_id="s") for one in runners]
    return [list(one.events) for one in sessions if one is not None]


async def _history(server: Server, key: str) -> WorkflowHistory:
    return await (await server.engine().client()).get_workflow_handle(key).fetch_history()


def _activities(history: WorkflowHistory) -> list[str]:
    """The type of each activity, and its summary."""
    found = []
    for event in history.events:
        if event.HasField("activity_task_scheduled_event_attributes"):
            name = event.activity_task_scheduled_event_attributes.activity_type.name
            found.append(f"{name} {event.user_metadata.summary.data.decode()}".strip())
    return found


def test_the_log_of_any_agent_is_the_same_as_without_steps(server: Server) -> None:
    async def main() -> None:
        engine = server.engine(steps=True)
        inline, stepped = await _events(InlineEngine(), _agents()), await _events(engine, _agents())
        for number, (expected, found) in enumerate(zip(inline, stepped, strict=True)):
            assert compared(found) == compared(expected), number
            assert len(found) > 1, number
        parts = 0
        for number in range(len(stepped)):
            for record in await engine.records(app_name=f"varied{number}"):
                assert record.state == RunState.ENDED
                history = await _history(server, record.spec.key)
                assert SECRET not in history.to_json()
                assert SECRET.encode() not in b"".join(one.SerializeToString() for one in history.events)
                parts += history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id != ""
                await Replayer(workflows=[Run]).replay_workflow(history)
        assert parts, "no history was long enough to be continued in another one"
        await engine.close()

    asyncio.run(main())


def test_temporal_shows_an_activity_for_each_call_of_a_model_and_the_tools_of_an_answer(server: Server) -> None:
    def look() -> str:
        return SECRET

    def pay() -> str:
        return SECRET

    async def main() -> None:
        script = [[FunctionCall(name="look"), FunctionCall(name="pay")], [FunctionCall(name="pay")], SECRET]
        agent = LlmAgent(name="clerk", model=ScriptedModel(script), tools=[look, pay])
        engine = server.engine(steps=True)
        await _events(engine, [agent])
        (record,) = await engine.records(app_name="varied0", most=1)
        assert _activities(await _history(server, record.spec.key)) == [
            "newel.begin",
            'newel.model "clerk"',
            'newel.tool "look, pay"',
            'newel.model "clerk"',
            'newel.tool "pay"',
            'newel.model "clerk"',
        ]
        assert record.attempts == 1

    asyncio.run(main())


class _Waiting:
    """A work whose runs wait for a step, and take their time to end."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.closed: list[str] = []
        self.tasks: dict[str, asyncio.Task[None] | None] = {}

    async def __call__(self, spec: InvocationSpec, stepping: Stepping | None = None) -> Outcome:
        assert stepping is not None
        self.tasks[spec.key] = asyncio.current_task()
        try:
            await stepping.enter(Call("tool", "pay"))
        except asyncio.CancelledError:
            await self.gate.wait()
            raise PostponedError("released", 0.0) from None
        return Outcome(state=RunState.ENDED)

    async def close(self, spec: InvocationSpec) -> Outcome:
        self.closed.append(spec.key)
        return Outcome(state=RunState.CANCELLED)

    def release(self, key: str) -> None:
        task = self.tasks[key]
        assert task is not None
        task.cancel()


def test_a_step_that_comes_after_the_lease_finds_no_run() -> None:
    async def main() -> None:
        environment, work, spec = ActivityEnvironment(), _Waiting(), a_spec()
        environment.info = replace(environment.info, heartbeat_timeout=timedelta(seconds=0.05))
        runs = Runs(work, "one", beat=1, concurrency=1, queue="own")
        data = spec.model_dump(mode="json", exclude_defaults=True)
        async with asyncio.timeout(BOUND):
            assert (await environment.run(runs.begin, data)).queue == "own"
            await asyncio.sleep(0.2)  # the lease is over, and the run has not let go yet
            late = await environment.run(runs.tool, spec.key)
            assert (late.state, late.queue) == (known.STEPPING, "")
            assert (await environment.run(runs.begin, data)).state == known.POSTPONED
            await environment.run(runs.close, data)
            assert work.closed == [spec.key]
            work.gate.set()
            await runs.idle.wait()

    asyncio.run(main())


def test_a_run_between_two_steps_is_closed_where_it_waits_and_raises_what_another_attempt_may_mend() -> None:
    async def main() -> None:
        environment, work, spec = ActivityEnvironment(), _Waiting(), a_spec()
        work.gate.set()
        runs = Runs(work, "one", beat=1, concurrency=1, queue="own")
        data = spec.model_dump(mode="json", exclude_defaults=True)

        async def away(spec: InvocationSpec) -> Outcome:
            raise ConnectionError(SECRET)

        async with asyncio.timeout(BOUND):
            await environment.run(runs.begin, data)
            work.close, close = away, work.close  # type: ignore[method-assign]
            with pytest.raises(ApplicationError, match=r"^ConnectionError: ConnectionError$"):
                await environment.run(runs.close, data)
            await runs.idle.wait()
            work.close = close  # type: ignore[method-assign]
            await environment.run(runs.close, data)
            assert work.closed == [spec.key]

    asyncio.run(main())


async def _worker(engine: TemporalEngine, runner: Runner) -> TemporalWorker:
    work = AgentWork([runner])
    worker = engine.worker(work, work.queues)
    await worker.start()
    return worker


def test_a_run_whose_worker_takes_no_steps_any_more_is_cancelled_with_its_calls_closed(server: Server) -> None:
    def pay() -> str:
        return "paid"

    async def main() -> None:
        engine, store = server.engine(steps=True), InMemorySessionService()
        agent = LlmAgent(name="clerk", model=ScriptedModel([[FunctionCall(name="pay")], "done"]), tools=[pay])
        runner = Runner(app_name="frozen", agent=agent, session_service=store, engine=engine, auto_create_session=True)
        worker = await _worker(engine, runner)
        stepper = worker._workers[1]
        await stepper.shutdown()
        run = await runner.submit(user_id="u", session_id="s", new_message="go")
        await until(engine, run.key, RunState.RUNNING)
        await engine.cancel(run.key)
        assert (await until(engine, run.key, *OVER)).reason == "cancelled"
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())


def test_an_answer_of_a_history_is_not_forgotten_in_the_next_one(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        workflow.Info, "is_continue_as_new_suggested", lambda info: info.get_current_history_length() > 20
    )

    async def main() -> None:
        engine, store = server.engine(steps=True), InMemorySessionService()

        async def answer() -> None:
            await engine.signal(run.key)  # who answers may be faster than the pause

        def ask() -> None:
            return None

        script = [[FunctionCall(name="answer")], [FunctionCall(name="ask")], "done"]
        agent = LlmAgent(name="clerk", model=ScriptedModel(script), tools=[answer, LongRunningFunctionTool(ask)])
        runner = Runner(app_name="long", agent=agent, session_service=store, engine=engine, auto_create_session=True)
        run = await runner.submit(user_id="u", session_id="s", new_message="go")
        worker = await _worker(engine, runner)
        async with asyncio.timeout(BOUND):
            while (record := await engine.record(run.key)) is None or record.attempts < 2:
                await asyncio.sleep(0.05)
        await engine.cancel(run.key)
        await until(engine, run.key, *OVER)
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())
