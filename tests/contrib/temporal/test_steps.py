"""Steps: each call of a model, and of the tools that one answer calls, is an activity of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from tests.contrib.temporal.servers import BOUND, Server
from tests.contrib.temporal.varied import SECRET, Maker, compared

from newel.agents import LlmAgent
from newel.engines import AgentWork, BaseEngine, InlineEngine, RunState
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_kernel import Event
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
