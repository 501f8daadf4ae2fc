"""What is submitted: it is refused by the name of the field, kept small, and found again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from newel import Workflow
from newel.agents import BaseAgent, InvocationContext, LlmAgent
from newel.apps import App, ResumabilityConfig
from newel.artifacts import InMemoryArtifactService
from newel.engines import (
    AgentWork,
    InlineEngine,
    InvocationSpec,
    PostponedError,
    RunFailedError,
    RunRecord,
    RunState,
    SpecRefusedError,
)
from newel.questions.given_answers import usable
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.testing.engines.place import approval
from newel.tools import FunctionTool
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, SessionNotFoundError
from newel_types import Content, FunctionCall, Part

WHERE: dict[str, Any] = {"user_id": "u", "session_id": "s"}


def _runner(*steps: Any, resumability_config: ResumabilityConfig | None = None, **options: Any) -> Runner:
    async def wipe(path: str) -> str:
        """Wipe a path."""
        return f"wiped {path}"

    agent = LlmAgent(name="clerk", model=ScriptedModel(steps), tools=[FunctionTool(wipe, require_confirmation=True)])
    given = {"session_service": InMemorySessionService(), "auto_create_session": True, **options}
    app = App(name="shop", root_agent=agent, resumability_config=resumability_config)
    return Runner(app=app, composition=compose("standard"), **given)


def _call() -> list[FunctionCall]:
    return [FunctionCall(name="wipe", args={"path": "/a"})]


def test_a_run_is_followed_from_any_event() -> None:
    async def main() -> None:
        async with _runner("one", "two") as runner:
            await (await runner.submit(**WHERE, new_message="first")).wait()
            run = await runner.submit(**WHERE, new_message="second")
            answer = await run.wait()
            assert answer is not None
            assert answer.text == "two"
            numbered = [one async for one in run.follow()]
            assert [event.text for _, event in numbered if event.text] == ["second", "two"]
            assert [number for number, _ in numbered] == [4, 5, 6]
            later = runner.follow(**WHERE, invocation_id=run.invocation_id, after=4)
            assert [event.id async for _, event in later] == [event.id for _, event in numbered[1:]]

    asyncio.run(main())


def test_a_run_waits_for_a_worker_of_the_release_that_knows_its_fields() -> None:
    async def main() -> None:
        async with _runner("one") as runner:
            run = await runner.submit(**WHERE, new_message="first", invocation_id="other")
            newer = InvocationSpec.model_validate({**dict(run.spec), "colour": "red", "invocation_id": "e-1"})
            with pytest.raises(PostponedError, match="newer release knows its fields: colour"):
                await AgentWork([runner])(newer)
            assert (await AgentWork([runner]).close(newer)).state is RunState.CANCELLED

    asyncio.run(main())


def test_an_answer_to_a_run_of_a_long_name_is_refused_by_its_name() -> None:
    async def main() -> None:
        async with _runner(_call(), "done", resumability_config=ResumabilityConfig()) as runner:
            session = await runner.session_service.create_session(app_name="shop", **WHERE)
            long = "x" * 201
            call = FunctionCall(id="c", name="wipe", args={"path": "/a"})
            asks = FunctionCall(
                id="q", name="adk_request_confirmation", args={"originalFunctionCall": call.model_dump()}
            )
            for author, part, waits in (
                ("user", Part(text="wipe"), None),
                ("clerk", Part(function_call=call), None),
                ("clerk", Part(function_call=asks), {"q"}),
            ):
                event = Event(invocation_id=long, author=author, content=Content(parts=[part]))
                event.long_running_tool_ids = waits
                await runner.session_service.append_event(session, event)
            with pytest.raises(SpecRefusedError, match=r"^invocation_id: "):
                await runner.submit(**WHERE, new_message=approval("q"))

    asyncio.run(main())


def test_an_answer_is_stored_and_the_run_goes_on() -> None:
    async def main() -> None:
        async with _runner(_call(), "done") as runner:
            run = await runner.submit(**WHERE, new_message="wipe")
            assert await run.wait() is None
            (question,) = await runner.questions(**WHERE)
            answered = await runner.submit(**WHERE, new_message=usable([(question, True)]))
            assert answered.invocation_id == run.invocation_id
            assert await answered.wait() is not None
            before = len([one async for one in run.follow()])
            with pytest.raises(SpecRefusedError, match="was answered before"):
                await runner.submit(**WHERE, new_message=usable([(question, False)]))
            assert len([one async for one in run.follow()]) == before
            assert len(await runner.engine.records()) == 1

    asyncio.run(main())


def test_who_follows_tells_the_engine_of_an_answer_that_a_plain_run_took() -> None:
    async def main() -> None:
        async with _runner(_call(), "done", resumability_config=ResumabilityConfig(is_resumable=True)) as runner:
            run = await runner.submit(**WHERE, new_message="wipe")
            await run.wait()
            (question,) = await runner.questions(**WHERE)
            async for _ in runner.run_async(**WHERE, new_message=usable([(question, True)])):
                pass
            async with asyncio.timeout(30):
                answer = await run.wait()
            assert answer is not None
            assert (await run.record()).state is RunState.ENDED

    asyncio.run(main())


@pytest.mark.parametrize("app", ["resumable", "plain"])
def test_an_answer_goes_to_the_invocation_that_asked_whoever_gives_it(app: str) -> None:
    """A submitted run pauses in every app: a plain run goes on with it, and the engine knows that it has ended."""

    async def main() -> None:
        config = ResumabilityConfig(is_resumable=True) if app == "resumable" else None
        async with _runner(_call(), "done", resumability_config=config) as runner:
            run = await runner.submit(**WHERE, new_message="wipe")
            assert await run.wait() is None
            (question,) = await runner.questions(**WHERE)
            events = [one async for one in runner.answer(question, True, **WHERE)]
            assert {one.invocation_id for one in events} == {run.invocation_id}
            assert [one.text for one in events if one.text] == ["done"]
            while (await run.record()).state is not RunState.ENDED:
                await asyncio.sleep(0.01)
            session = await runner.session_service.get_session(app_name="shop", **WHERE)
            assert session is not None
            assert {one.invocation_id for one in session.events} == {run.invocation_id}
            assert [one.text for one in session.events if one.text] == ["wipe", "done"]

    asyncio.run(main())


def test_a_plain_run_resumes_a_submitted_invocation_of_an_app_that_is_not_resumable() -> None:
    async def main() -> None:
        async with _runner("one", "two") as runner:
            run = await runner.submit(**WHERE, new_message="first", invocation_id="e-1")
            await run.wait()
            assert [one async for one in runner.run_async(**WHERE, invocation_id="e-1")] == []  # it has ended
            plain = [one async for one in runner.run_async(**WHERE, new_message="second")]
            with pytest.raises(ConfigurationError, match="is not resumable"):
                async for _ in runner.run_async(**WHERE, invocation_id=plain[0].invocation_id):
                    pass

    asyncio.run(main())


def test_an_answer_wakes_a_run_that_no_engine_had() -> None:
    async def main() -> None:
        store = InMemorySessionService()
        async with _runner(_call(), session_service=store) as other:
            async for _ in other.run_async(**WHERE, new_message="wipe"):
                pass
            (question,) = await other.questions(**WHERE)
        async with _runner("done", session_service=store) as runner:
            run = await runner.submit(**WHERE, new_message=usable([(question, True)]))
            answer = await run.wait()
            assert answer is not None
            assert (answer.text, answer.invocation_id) == ("done", question.invocation_id)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"tenant": "t" * 300}, "tenant"),
        ({"priority": 9}, "priority"),
        ({"seconds": -1}, "seconds"),
        ({"colour": "red"}, "colour"),
        ({"state_delta": {"x": "y" * 70_000}}, "state_delta"),
        ({"new_message": "x" * 5_000_000}, "message"),
        ({"invocation_id": "x" * 300}, "invocation_id"),
    ],
)
def test_a_wrong_field_is_named(given: dict[str, Any], named: str) -> None:
    async def main() -> None:
        async with _runner("never") as runner:
            with pytest.raises(SpecRefusedError, match=rf"^{named}: ") as caught:
                await runner.submit(**{**WHERE, "new_message": "hi", **given})
            assert len(str(caught.value)) < 300
            assert await runner.engine.records() == []

    asyncio.run(main())


def test_the_invocation_of_another_session_is_refused() -> None:
    async def main() -> None:
        async with _runner("one", "two") as runner:
            run = await runner.submit(**WHERE, new_message="hi")
            await run.wait()
            other = {"user_id": "u", "session_id": "t", "invocation_id": run.invocation_id}
            with pytest.raises(SpecRefusedError, match=r"^session_id: "):
                await runner.submit(**other, new_message="hi")
            with pytest.raises(SpecRefusedError, match=r"^session_id: "):
                await runner.cancel_run(**other)
            with pytest.raises(SpecRefusedError, match=r"^invocation_id: the session has no invocation"):
                await runner.submit(**other)

    asyncio.run(main())


def test_an_invocation_that_began_elsewhere_takes_no_second_message() -> None:
    async def main() -> None:
        async with _runner("one", "two") as runner:
            events = [event async for event in runner.run_async(**WHERE, new_message="hi")]
            with pytest.raises(SpecRefusedError, match="leave out new_message"):
                await runner.submit(**WHERE, new_message="hi", invocation_id=events[0].invocation_id)

    asyncio.run(main())


def test_what_is_needed_is_told() -> None:
    async def main() -> None:
        async with _runner("never", auto_create_session=False) as runner:
            with pytest.raises(SessionNotFoundError, match="session_id"):
                await runner.submit(**WHERE, new_message="hi")
            with pytest.raises(ConfigurationError, match="new_message"):
                await runner.submit(**WHERE)

    asyncio.run(main())


def test_a_large_message_is_an_artifact_until_the_log_has_it() -> None:
    async def main() -> None:
        artifacts = InMemoryArtifactService()
        async with _runner("read", artifact_service=artifacts) as runner:
            run = await runner.submit(**WHERE, new_message="x" * 300_000)
            assert run.spec.message is None
            assert len(run.spec.model_dump_json()) < 2000
            again = await runner.submit(**WHERE, new_message="x" * 300_000, invocation_id=run.invocation_id)
            assert again.spec == run.spec
            assert await run.wait() is not None
            numbered = [event async for _, event in run.follow()]
            assert len(numbered[0].text) == 300_000
            assert await artifacts.list_artifact_keys(app_name="shop", **WHERE) == []

    asyncio.run(main())


class _Refuses(InlineEngine):
    """Refuses what it is given, once it is told to."""

    refuses = False

    async def submit(self, spec: InvocationSpec) -> RunRecord:
        if self.refuses:
            raise SpecRefusedError("tenant: not this one")
        return await super().submit(spec)


def test_the_artifact_of_a_message_stays_only_as_long_as_a_run_needs_it() -> None:
    async def main() -> None:
        artifacts, engine, large = InMemoryArtifactService(), _Refuses(), "x" * 300_000
        runner = _runner("read", ValueError("no"), artifact_service=artifacts, engine=engine)
        worker = engine.worker(work := AgentWork([runner]), work.queues)

        async def kept() -> int:
            return len(await artifacts.list_artifact_keys(app_name="shop", **WHERE))

        await worker.start()
        run = await runner.submit(**WHERE, new_message=large)
        await run.wait()
        for _ in range(2):  # the run has ended: it needs no message
            await runner.submit(**WHERE, new_message=large, invocation_id=run.invocation_id)
            assert await kept() == 0
        with pytest.raises(SpecRefusedError, match=r"^tenant"):
            await runner.submit(**WHERE, new_message=large, invocation_id=run.invocation_id, tenant="other")
        with pytest.raises(RunFailedError):
            await (await runner.submit(**WHERE, new_message=large)).wait()
        assert await kept() == 0
        engine.refuses = True
        with pytest.raises(SpecRefusedError, match=r"^tenant"):
            await runner.submit(**WHERE, new_message=large)
        assert await kept() == 0
        engine.refuses = False
        await worker.drain(0)
        waiting = await asyncio.gather(*(runner.submit(**WHERE, new_message=large, invocation_id="w") for _ in "abc"))
        assert (len({one.key for one in waiting}), await kept()) == (1, 1)

    asyncio.run(main())


def test_a_message_goes_by_reference_if_the_rest_leaves_no_room_for_it() -> None:
    async def main() -> None:
        async with _runner("read", artifact_service=InMemoryArtifactService()) as runner:
            run = await runner.submit(**WHERE, new_message="x" * 40_000, state_delta={"notes": "y" * 30_000})
            assert await run.wait() is not None
            numbered = [event async for _, event in run.follow()]
            assert len(numbered[0].text) == 40_000
            assert len(numbered[0].actions.state_delta["notes"]) == 30_000

    asyncio.run(main())


def test_a_failed_run_says_its_class_and_not_its_text() -> None:
    async def main() -> None:
        async with _runner(ValueError("secret")) as runner:
            run = await runner.submit(**WHERE, new_message="hi")
            with pytest.raises(RunFailedError):
                await run.wait()
            record = await run.record()
            assert record.outcome is not None
            assert record.outcome.error
            assert "secret" not in repr(record)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"app_name": "other"}, "no app"),
        ({"version": "2"}, "version"),
        ({"lock": "abc"}, "locked"),
    ],
)
def test_a_worker_postpones_what_does_not_fit(change: dict[str, str], reason: str) -> None:
    async def main() -> None:
        runner = _runner("never")
        spec = InvocationSpec(**{"app_name": "shop", **WHERE, "message": {"parts": [{"text": "hi"}]}, **change})
        with pytest.raises(Exception, match=reason) as caught:
            await AgentWork([runner])(spec)
        assert type(caught.value).__name__ == "PostponedError"

    asyncio.run(main())


def test_a_session_that_has_a_run_is_waited_for() -> None:
    async def main() -> None:
        engine = InlineEngine()
        runner = _runner(0.2, "first", "second", engine=engine)
        worker = engine.worker(work := AgentWork([runner]), work.queues)
        await worker.start()
        first = await runner.submit(**WHERE, new_message="one")
        second = await runner.submit(**WHERE, new_message="two")
        answers = [await one.wait() for one in (first, second)]
        assert [one and one.text for one in answers] == ["first", "second"]
        assert (await second.record()).attempts == 1
        await worker.drain(0)

    asyncio.run(main())


class Own(BaseAgent):
    """An agent that notes nothing of its own."""

    runs: int = 0

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        self.runs += 1
        yield Event(invocation_id=ctx.invocation_id, author=self.name, message="done")


def test_a_run_that_has_ended_is_not_run_again() -> None:
    async def main() -> None:
        agent = Own(name="own")
        store = InMemorySessionService()
        await store.create_session(app_name="shop", **WHERE)
        work = AgentWork([Runner(app_name="shop", agent=agent, session_service=store)])
        spec = InvocationSpec(app_name="shop", **WHERE, message={"parts": [{"text": "hi"}]})
        first = await work(spec)
        assert (await work(spec), first.state, agent.runs) == (first, RunState.ENDED, 1)

    asyncio.run(main())


def test_a_graph_waits_for_the_users_next_message() -> None:
    async def main() -> None:
        steps = ["Your name?", [FunctionCall(name="finish_task", args={"result": "Ada"})]]
        ask = LlmAgent(name="ask", mode="task", model=ScriptedModel(steps))

        def greet(node_input: Any) -> str:
            return f"Hello, {node_input['result']}"

        graph = Workflow(name="flow", edges=[("START", ask, greet)])
        given: dict[str, Any] = {"session_service": InMemorySessionService(), "auto_create_session": True}
        async with Runner(app_name="shop", node=graph, **given) as runner:
            run = await runner.submit(**WHERE, new_message="hi")
            await run.wait()
            assert (await run.record()).state is RunState.PAUSED
            await runner.engine.signal(run.key)  # nobody has said anything: it waits again
            answered = await runner.submit(**WHERE, new_message="Ada")
            answer = await answered.wait()
            assert answer is not None
            assert (answered.invocation_id, answer.output) == (run.invocation_id, "Hello, Ada")

    asyncio.run(main())
