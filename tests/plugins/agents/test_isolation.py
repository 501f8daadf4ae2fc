"""Isolated runs: what the model sees, what the events carry, what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from newel import Agent, Event, Runner
from newel.agents import BaseAgent, InvocationContext, SequentialAgent
from newel.agents.isolation import IsolatedResult, run_isolated
from newel.testing import ScriptedModel
from newel.tools.structured_output import OutputSchemaError
from newel.types import Content, FunctionCall, Part

Work = Callable[[InvocationContext], AsyncGenerator[Event, None]]


class Word(BaseModel):
    w: str


class Node(BaseAgent):
    """Does what the test says."""

    work: Any

    def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        return self.work(ctx)


def run(work: Work, *messages: str) -> list[Event]:
    """The session's events after the messages."""

    async def talk() -> list[Event]:
        async with Runner(
            agent=Node(name="node", work=work), app_name="app", auto_create_session=True, distribution="adk"
        ) as runner:
            for message in messages or ("hello",):
                async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
                    pass
            session = await runner.session_service.get_session(app_name="app", user_id="u", session_id="s")
        return list(session.events)

    return asyncio.run(talk())


def shown(model: ScriptedModel) -> list[list[str]]:
    """The texts (and calls, by name) of each request."""
    return [
        [p.text or (p.function_call or p.function_response).name for c in request.contents for p in c.parts]
        for request in model.requests
    ]


@pytest.mark.parametrize(
    ("node_input", "prompt"),
    [
        ("sea", "sea"),
        (Word(w="ü"), '{"w":"ü"}'),
        ({"a": Word(w="ü")}, '{"a": {"w": "ü"}}'),
        ([1, "x"], '[1, "x"]'),
        (5, "5"),
        (Content(role="model", parts=[Part(text="said")]), "said"),
        (None, "hello"),
    ],
)
def test_the_model_sees_the_input_and_no_identity(node_input: Any, prompt: str) -> None:
    with ScriptedModel(["a poem"]) as model:
        writer = Agent(name="writer", model=model, instruction="Write.")

        async def work(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author="node", message="before")
            async for event in run_isolated(writer, ctx, node_input, branch=None, isolation_scope=None):
                yield event

        events = run(work)
    assert shown(model) == [[prompt]]
    assert model.requests[0].contents[0].role == "user"
    assert model.requests[0].config.system_instruction == "Write."
    assert [(e.author, e.isolation_scope) for e in events] == [("user", None), ("node", None), ("writer", None)]


def test_a_run_without_a_scope_does_not_see_the_one_before_it() -> None:
    with ScriptedModel([FunctionCall(name="look", args={}), "one", "two"]) as model:

        def look() -> str:
            return "seen"

        writer = Agent(name="writer", model=model, tools=[look])

        async def work(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            for node_input in ("first", "second"):
                async for event in run_isolated(writer, ctx, node_input, branch=None, isolation_scope=None):
                    yield event

        run(work)
    assert shown(model) == [["first"], ["first", "look", "look"], ["second"]]


def test_a_scope_spans_invocations_and_is_invisible_outside() -> None:
    with ScriptedModel([FunctionCall(name="look", args={}), "which one?", "that one"]) as model:

        def look() -> str:
            return "seen"

        def note(callback_context: Any) -> None:
            callback_context.state["noted"] = True

        inner = Agent(name="inner", model=model, mode="task", tools=[look], after_agent_callback=note)

        async def work(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            async for event in run_isolated(inner, ctx, "do it", branch="b", isolation_scope="t1"):
                yield event

        events = run(work, "go", "on")
    inner_events = [event for event in events if event.author == "inner"]
    assert {(event.isolation_scope, event.branch) for event in inner_events} == {("t1", "b")}
    assert len(inner_events) == 6, "calls, results, messages and the callback's state: all carry the scope"
    assert shown(model)[-1] == ["do it", "look", "look", "which one?", "on"], "and not what was said before it"

    with ScriptedModel(["hi"]) as outside:
        agent = Agent(name="outside", model=outside)

        async def both(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author="inner", message="secret", isolation_scope="t1")
            yield Event(author="inner", message="public")
            async for event in agent.run_async(ctx):
                yield event

        run(both)
    assert shown(outside) == [["hello", "For context:", "[inner] said: public"]]


def test_an_inner_run_without_a_scope_stays_in_that_of_the_outer_one() -> None:
    with ScriptedModel(["done"]) as model:
        worker = Agent(name="worker", model=model)

        async def outer(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            async for event in run_isolated(worker, ctx, "in", branch="x", isolation_scope=None):
                yield event

        async def work(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            node = Node(name="outer", work=outer)
            async for event in run_isolated(node, ctx, "out", branch=None, isolation_scope="t1"):
                yield event

        events = run(work)
    assert [(e.author, e.isolation_scope, e.branch) for e in events[1:]] == [("worker", "t1", "x")]


def test_only_the_agent_that_was_started_answers_once() -> None:
    with ScriptedModel(["a", "b"]) as model:
        sequence = SequentialAgent(name="both", sub_agents=[Agent(name=n, model=model) for n in ("one", "two")])

        async def work(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            async for event in run_isolated(sequence, ctx, "in", branch=None, isolation_scope=None):
                yield event

        run(work)
    assert shown(model) == [["in"], ["in", "For context:", "[one] said: a"]]
    assert "internal name" in model.requests[0].config.system_instruction


def test_the_outcome_is_the_last_message() -> None:
    def look() -> str:
        return "seen"

    thought = [Part(text="hm", thought=True), Part(text="two")]
    for schema, said, value in ((None, thought, "two"), (Word, '{"w": "x"}', {"w": "x"}), (list[int], "[1]", [1])):
        steps = [[Part(text="one"), Part(function_call=FunctionCall(name="look", args={}))], said]
        agent = Agent(name="writer", model=ScriptedModel(steps), output_schema=schema, tools=[look])
        outcome = IsolatedResult(agent)

        async def work(
            ctx: InvocationContext, agent: Agent = agent, outcome: IsolatedResult = outcome
        ) -> AsyncGenerator[Event, None]:
            async for event in run_isolated(agent, ctx, "in", branch=None, isolation_scope=None):
                outcome.see(event)
                yield event

        events = run(work)
        assert outcome.value == value
        assert [bool(e.node_info.message_as_output) for e in events] == [False, False, False, True]
        assert all(event.output is None for event in events)


def test_a_message_that_does_not_fit_fails() -> None:
    outcome = IsolatedResult(Agent(name="writer", model="test:", output_schema=Word))
    with pytest.raises(OutputSchemaError):
        outcome.see(Event(author="writer", content=Content(role="model", parts=[Part(text="{}")])))


def test_the_outcome_of_a_task_is_its_output() -> None:
    outcome = IsolatedResult(Agent(name="t", model="test:", mode="task"))
    outcome.see(Event(author="t", content=Content(role="model", parts=[Part(text="a question?")])))
    assert outcome.value is None
    outcome.see(Event(author="t", output={"result": "r"}))
    assert outcome.value == {"result": "r"}
