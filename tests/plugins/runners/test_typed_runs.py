"""Runs that give values: of output schemas, with deps, in named sessions, and with questions answered from Python."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from newel import Agent, Context, InMemoryRunner, Runner, Waiting, Workflow, arun, run, tool
from newel.agents import ReadonlyContext, SequentialAgent
from newel.runners.answer import NoAnswerError
from newel.sessions.sqlite import SqliteSessionService
from newel.testing import ScriptedModel
from newel.tools import AgentTool
from newel.tools.structured_output import OutputSchemaError
from newel_kernel import ConfigurationError

WHO: Any = {"user_id": "ada", "session_id": "s1"}


class Weather(BaseModel):
    city: str
    degrees: float | None = None


@dataclass
class Shop:
    name: str = "Ann's"
    secret: str = "tell-nobody-4711"
    asked: list[str] = field(default_factory=list)


def weather(*answers: Any) -> Agent[object, Weather]:
    return Agent(name="weather", model=ScriptedModel([*answers]), output_schema=Weather)


OSLO = '{"city": "Oslo", "degrees": 4.5}'


def test_a_run_gives_the_value_of_the_schema() -> None:
    assert run(weather(OSLO), "Oslo?") == Weather(city="Oslo", degrees=4.5)
    assert asyncio.run(arun(weather(OSLO), "Oslo?")).degrees == 4.5


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (list[Weather], f"[{OSLO}]", [Weather(city="Oslo", degrees=4.5)]),
        (int, "3", 3),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        ({"type": "object"}, '{"a": 1}', '{"a": 1}'),
        (None, "three", "three"),
    ],
)
def test_a_schema_that_is_a_type_gives_its_value_and_any_other_the_text(schema: Any, text: str, value: object) -> None:
    assert run(Agent(name="one", model=ScriptedModel([text]), output_schema=schema), "?") == value


def test_an_answer_that_does_not_fit_is_an_error_of_one_line_with_the_agent() -> None:
    agent = weather('{"town": "Oslo"}')
    with pytest.raises(OutputSchemaError, match="the answer of agent 'weather' does not fit its output_schema") as told:
        run(agent, "Oslo?", distribution="adk")
    assert "\n" not in str(told.value)


def test_a_run_without_an_answer_is_an_error_if_a_value_is_due() -> None:
    with pytest.raises(NoAnswerError, match="the agent 'weather' ended without an answer"):
        run(weather(""), "Oslo?", distribution="adk")


def test_other_agents_give_texts() -> None:
    one = Agent(name="one", model=ScriptedModel(["a"]))
    assert run(SequentialAgent(name="all", sub_agents=[one]), "?") == "a"


def test_a_runner_gives_values_and_parts_of_them() -> None:
    async def main() -> None:
        model = ScriptedModel([{"chunks": ['{"city": "Os', 'lo", "deg', 'rees": 4', ".5}"]}])
        runner = InMemoryRunner(Agent(name="weather", model=model, output_schema=Weather))
        values = [value async for value in runner.stream_typed(**WHO, new_message="Oslo?")]
        assert values[0] == Weather(city="Os")
        assert values[-1] == Weather(city="Oslo", degrees=4.5)
        assert len(values) >= 3
        runner = InMemoryRunner(weather(OSLO))
        assert await runner.run_typed(**WHO, new_message="Oslo?") == Weather(city="Oslo", degrees=4.5)

    asyncio.run(main())


def shop_agent(*steps: Any, **fields: Any) -> Agent[Shop, str]:
    def hours(ctx: Context[Shop]) -> str:
        """Tell when it is open."""
        ctx.deps.asked.append("tool")
        return f"{ctx.deps.name} opens at 9"

    def instruction(ctx: ReadonlyContext[Shop]) -> str:
        ctx.deps.asked.append("instruction")
        return f"You work for {ctx.deps.name}."

    def before(callback_context: Context[Shop]) -> None:
        callback_context.deps.asked.append("callback")

    model = ScriptedModel([*(steps or ({"call": "hours"}, "at 9"))])
    return Agent(
        name="shop",
        model=model,
        deps_type=Shop,
        tools=[hours],
        instruction=instruction,
        before_agent_callback=before,
        **fields,
    )


def test_deps_reach_tools_callbacks_and_instructions() -> None:
    shop = Shop()
    assert run(shop_agent(), "when?", deps=shop) == "at 9"
    assert {*shop.asked} == {"tool", "instruction", "callback"}


def test_deps_reach_the_agents_of_tools_and_the_nodes_of_graphs() -> None:
    shop = Shop()
    desk = Agent(
        name="desk",
        model=ScriptedModel([{"call": "shop", "args": {"request": "when?"}}, "done"]),
        tools=[AgentTool(shop_agent())],
        deps_type=Shop,
    )
    assert run(desk, "when?", deps=shop) == "done"
    assert "tool" in shop.asked

    def node(ctx: Context[Shop], node_input: str) -> str:
        return ctx.deps.name

    flow: Workflow[Shop] = Workflow(name="flow", edges=[("START", node)])

    async def main() -> None:
        events = [one async for one in InMemoryRunner(flow).run_async(**WHO, new_message="?", deps=Shop("Bo's"))]
        assert [one.output for one in events if one.output is not None] == ["Bo's"]

    asyncio.run(main())


def test_deps_are_stored_nowhere(tmp_path: Path) -> None:
    async def main() -> None:
        store = SqliteSessionService(str(tmp_path / "sessions.db"))
        runner = Runner(agent=shop_agent(), app_name="shop", session_service=store, auto_create_session=True)
        events = [one async for one in runner.run_async(**WHO, new_message="when?", deps=Shop(name="x"))]
        session = await store.get_session(app_name="shop", **WHO)
        assert session is not None
        told = json.dumps([one.model_dump(mode="json") for one in [*events, *session.events]]) + str(session.state)
        assert "4711" not in told
        await runner.close()
        await store.close()

    asyncio.run(main())
    assert b"4711" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("deps", [None, "Ann's", Shop])
def test_deps_of_another_type_are_refused_before_anything_is_stored(deps: Any) -> None:
    agent = shop_agent()
    with pytest.raises(ConfigurationError, match="the agent 'shop' needs deps of the type Shop"):
        run(agent, "when?", deps=deps)

    async def main() -> None:
        runner = InMemoryRunner(agent)
        with pytest.raises(ConfigurationError, match=r"pass deps=Shop\(\.\.\.\)"):
            runner.run_async(**WHO, new_message="when?", deps=deps)
        assert await runner.session_service.get_session(app_name=runner.app_name, **WHO) is None

    asyncio.run(main())


@pytest.mark.parametrize("way", ["run_async", "steer", "run", "start", "run_typed", "stream_typed"])
def test_deps_are_taken_by_each_way_to_run(way: str) -> None:
    shop = Shop()

    async def main() -> None:
        started = getattr(InMemoryRunner(shop_agent()), way)(**WHO, new_message="when?", deps=shop)
        if way == "start":
            await started.wait()
        elif way == "run_typed":
            assert await started == "at 9"
        elif way == "run":
            list(started)
        else:
            [one async for one in started]

    asyncio.run(main())
    assert "tool" in shop.asked


def test_deps_are_given_with_an_answer() -> None:
    @tool(require_confirmation=True)
    def close(ctx: Context[Shop]) -> str:
        """Close the shop."""
        return f"{ctx.deps.name} is closed"

    agent = Agent(name="shop", model=ScriptedModel([{"call": "close"}, "done"]), tools=[close], deps_type=Shop)

    async def main() -> None:
        runner = InMemoryRunner(agent)
        [one async for one in runner.run_async(**WHO, new_message="close", deps=Shop())]
        [question] = await runner.questions(**WHO)
        with pytest.raises(ConfigurationError, match="needs deps"):
            [one async for one in runner.answer(question, True, **WHO)]
        events = [one async for one in runner.answer(question.id, True, **WHO, deps=Shop("Bo's"))]
        assert "Bo's is closed" in str(events)

    asyncio.run(main())


def test_deps_type_is_a_class() -> None:
    with pytest.raises(ValueError, match="deps_type takes a class, not 3"):
        Agent(name="shop", deps_type=3)  # type: ignore[arg-type]


def test_a_named_session_is_continued_and_another_is_not() -> None:
    model = ScriptedModel(["hello Ann", "you are Ann", "who?"])
    agent = Agent(name="named_sessions", model=model)
    run(agent, "I am Ann", session="ann")
    assert run(agent, "who am I?", session="ann") == "you are Ann"
    assert "I am Ann" in str(model.requests[1].contents)
    run(agent, "who am I?", session="bo")
    assert "I am Ann" not in str(model.requests[2].contents)
    with pytest.raises(ConfigurationError, match="session is the name of a session, not 3"):
        run(agent, "?", session=3)  # type: ignore[arg-type]


def refunds(*steps: Any) -> Agent[object, Weather]:
    @tool(require_confirmation=True)
    def refund(amount: int) -> str:
        """Pay it back."""
        return f"paid {amount}"

    model = ScriptedModel([{"call": "refund", "args": {"amount": 3}}, *(steps or (OSLO,))])
    return Agent(name="desk", model=model, tools=[refund], output_schema=Weather)


def test_an_approval_gives_the_text_or_the_value() -> None:
    with pytest.raises(Waiting) as waiting:
        run(refunds(), "refund")
    assert waiting.value.answer(True) == OSLO
    agent = refunds()
    with pytest.raises(Waiting) as waiting:
        run(agent, "refund")
    with pytest.raises(ConfigurationError, match="the agent that waits is another one"):
        waiting.value.answer(True, agent=refunds())
    assert waiting.value.answer(True, agent=agent).city == "Oslo"


def test_a_program_lists_what_waits_and_answers_it() -> None:
    async def main() -> None:
        runner = InMemoryRunner(refunds())
        assert await runner.questions(**WHO) == []
        with pytest.raises(NoAnswerError):
            await runner.run_typed(**WHO, new_message="refund")
        [question] = await runner.questions(**WHO)
        assert question.original["args"] == {"amount": 3}
        for wrong, told in (("nothing", "nothing waits for an answer"), (question.id, "the answer cannot be used")):
            with pytest.raises(ConfigurationError, match=told):
                [one async for one in runner.answer(wrong, 7, **WHO)]
        assert [one.id for one in await runner.questions(**WHO)] == [question.id]
        texts = [one.text async for one in runner.answer(question, True, **WHO)]
        assert texts[-1] == OSLO
        assert await runner.questions(**WHO) == []

    asyncio.run(main())


def test_where_a_loop_runs_the_error_names_what_can_be_awaited() -> None:
    async def main() -> None:
        with pytest.raises(ConfigurationError, match=r"await newel.arun\(agent, ...\).*Runner.run"):
            run(Agent(name="helper", model="demo:"), "hello")

    asyncio.run(main())
