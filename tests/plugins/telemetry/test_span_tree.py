"""The tree of spans: each operation ends, below what began it, and no context outlives a step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, nullcontext, suppress
from typing import Any

import pytest
from opentelemetry import trace

from newel.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.agents.run_config import RunConfig, StreamingMode
from newel.models import BaseLlm, LlmResponse
from newel.runners import Runner
from newel.testing import ScriptedModel
from newel.tools.agent_tool import AgentTool
from newel_kernel import BaseAgent, Event, current_operation
from newel_types import Content, FunctionCall, Part


def call(name: str, **args: Any) -> FunctionCall:
    return FunctionCall(name=name, args=args)


def brew(leaf: str = "oolong") -> str:
    """Brews tea."""
    return f"a pot of {leaf}"


def smash() -> str:
    """Smashes the pot."""
    raise ValueError("the pot is gone")


def agent(name: str, *steps: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(steps), **fields)


def test_a_turn_with_a_tool(play: Any, recording: Any) -> None:
    play(agent("waiter", call("brew"), "here you are", tools=[brew]))
    assert recording.tree() == [
        ["invocation", ["invoke_agent waiter", "chat scripted", "execute_tool brew", "chat scripted"]]
    ]
    assert len({span.context.trace_id for span in recording.spans}) == 1
    assert {span.status.status_code for span in recording.spans} == {trace.StatusCode.UNSET}


def test_tools_side_by_side_are_siblings_and_their_merging_is_no_call(play: Any, recording: Any) -> None:
    async def steep(minutes: float) -> str:
        await asyncio.sleep(minutes)
        return "done"

    play(
        agent(
            "waiter", [call("steep", minutes=0.02), call("steep", minutes=0.0), call("brew")], "so", tools=[steep, brew]
        )
    )
    assert recording.tree() == [
        [
            "invocation",
            [
                "invoke_agent waiter",
                "chat scripted",
                "execute_tool steep",
                "execute_tool steep",
                "execute_tool brew",
                "chat scripted",
            ],
        ]
    ]
    slow, quick = recording.named("execute_tool steep")
    assert quick.end_time < slow.end_time


def test_a_model_call_ends_before_its_tools_run(play: Any, recording: Any) -> None:
    play(agent("waiter", call("brew"), "here you are", tools=[brew]))
    first, second = recording.named("chat scripted")
    tool = recording.one("execute_tool brew")
    assert first.end_time <= tool.start_time <= tool.end_time <= second.start_time


def test_an_agent_that_is_handed_over_to_runs_within_the_one_that_did(play: Any, recording: Any) -> None:
    cook = agent("cook", call("transfer_to_agent", agent_name="baker"))
    baker = agent("baker", "bread")
    play(agent("waiter", call("transfer_to_agent", agent_name="cook"), sub_agents=[cook, baker]))
    handover = "execute_tool transfer_to_agent"
    assert recording.tree() == [
        [
            "invocation",
            [
                "invoke_agent waiter",
                "chat scripted",
                handover,
                ["invoke_agent cook", "chat scripted", handover, ["invoke_agent baker", "chat scripted"]],
            ],
        ]
    ]


def test_agents_one_after_another(play: Any, recording: Any) -> None:
    pair = [agent("first", "one"), agent("second", "two")]
    play(SequentialAgent(name="row", sub_agents=pair))
    assert recording.tree() == [
        [
            "invocation",
            ["invoke_agent row", ["invoke_agent first", "chat scripted"], ["invoke_agent second", "chat scripted"]],
        ]
    ]


def test_agents_side_by_side(play: Any, recording: Any) -> None:
    def waiting(name: str, seconds: float) -> LlmAgent:
        async def steep() -> str:
            """Steeps."""
            await asyncio.sleep(seconds)
            return "done"

        return agent(name, call("steep"), "so", tools=[steep])

    play(ParallelAgent(name="all", sub_agents=[waiting("slow", 0.02), waiting("quick", 0.0)]))
    inner = ["chat scripted", "execute_tool steep", "chat scripted"]
    assert recording.tree() == [
        ["invocation", ["invoke_agent all", ["invoke_agent slow", *inner], ["invoke_agent quick", *inner]]]
    ]


def test_each_round_of_a_loop(play: Any, recording: Any) -> None:
    play(LoopAgent(name="again", max_iterations=2, sub_agents=[agent("one", "1", "2")]))
    inner = ["invoke_agent one", "chat scripted"]
    assert recording.tree() == [["invocation", ["invoke_agent again", inner, inner]]]


def test_an_agent_as_a_tool_runs_within_the_tool_call(play: Any, recording: Any) -> None:
    cook = agent("cook", "bread", description="bakes")
    play(agent("waiter", call("cook", request="bread"), "so", tools=[AgentTool(agent=cook)]), distribution="standard")
    assert recording.tree() == [
        [
            "invocation",
            [
                "invoke_agent waiter",
                "chat scripted",
                ["execute_tool cook", ["invocation", ["invoke_agent cook", "chat scripted"]]],
                "chat scripted",
            ],
        ]
    ]


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_the_spans_of_a_tool_stand_below_its_call(play: Any, recording: Any, distribution: str) -> None:
    tracer = recording.provider.get_tracer("mine")

    def weigh() -> str:
        """Weighs; a synchronous tool, in `standard` in a thread."""
        with tracer.start_as_current_span("weigh"):
            return "3 g"

    async def boil() -> str:
        """Boils."""
        with tracer.start_as_current_span("boil"):
            await asyncio.sleep(0)
            return "100 °C"

    play(agent("waiter", [call("weigh"), call("boil")], "so", tools=[weigh, boil]), distribution=distribution)
    assert recording.tree() == [
        [
            "invocation",
            [
                "invoke_agent waiter",
                "chat scripted",
                ["execute_tool weigh", "weigh"],
                ["execute_tool boil", "boil"],
                "chat scripted",
            ],
        ]
    ]


def test_the_spans_of_a_provider_stand_below_its_call_even_where_it_holds_one_over_its_yields(
    play: Any, recording: Any
) -> None:
    tracer = recording.provider.get_tracer("mine")

    class Instrumented(BaseLlm):
        model: str = "instrumented"

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            with tracer.start_as_current_span("POST"):
                for text in ("a", "b"):
                    yield LlmResponse(content=Content(role="model", parts=[Part(text=text)]), partial=True)
                with tracer.start_as_current_span("parse"):
                    pass
                yield LlmResponse(content=Content(role="model", parts=[Part(text="ab")]))

    play(LlmAgent(name="waiter", model=Instrumented()), run_config=RunConfig(streaming_mode=StreamingMode.SSE))
    assert recording.tree() == [["invocation", ["invoke_agent waiter", ["chat instrumented", ["POST", "parse"]]]]]


def test_the_spans_of_an_agents_own_code_stand_between(play: Any, recording: Any) -> None:
    tracer = recording.provider.get_tracer("mine")

    class Host(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            with tracer.start_as_current_span("look"):
                pass
            with tracer.start_as_current_span("seat"):
                turn_events = [event async for event in self.sub_agents[0].run_async(ctx)]
            for event in turn_events:
                yield event

    play(Host(name="host", sub_agents=[agent("waiter", "tea")]))
    assert recording.tree() == [
        ["invocation", ["invoke_agent host", "look", ["seat", ["invoke_agent waiter", "chat scripted"]]]]
    ]


def test_a_node_of_a_graph_has_a_span_where_its_runner_says_so(play: Any, recording: Any) -> None:
    async def double(ctx: Any, number: int) -> int:
        return number * 2

    class Graph(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            parent = current_operation.get()
            assert parent is not None
            assert await parent.child("node", "double", ctx, input=2).call(double, ctx, 2) == 4
            nested = self.sub_agents[0].run_async(ctx)
            async for event in parent.child("node", "ask", ctx).stream(nested):
                yield event

    play(Graph(name="graph", sub_agents=[agent("waiter", "tea")]))
    assert recording.tree() == [
        [
            "invocation",
            ["invoke_agent graph", "node double", ["node ask", ["invoke_agent waiter", "chat scripted"]]],
        ]
    ]
    assert recording.one("node double").attributes["newel.node.name"] == "double"
    assert not any(name.startswith("gen_ai.") for name in recording.one("node double").attributes)


def test_the_invocation_stands_below_the_callers_span(runner: Callable[..., Runner], recording: Any) -> None:
    async def serve() -> None:
        with recording.provider.get_tracer("mine").start_as_current_span("GET /"):
            async for _ in runner(agent("waiter", "tea")).run_async(user_id="a", session_id="s", new_message="hi"):
                pass

    asyncio.run(serve())
    assert recording.tree() == [["GET /", ["invocation", ["invoke_agent waiter", "chat scripted"]]]]


# --- contexts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("around", [False, True])
def test_the_current_span_at_every_yield_is_the_callers_own(
    runner: Callable[..., Runner], recording: Any, around: bool
) -> None:
    tracer = recording.provider.get_tracer("mine")
    second = ParallelAgent(
        name="both", sub_agents=[agent("left", ["a", "b"]), agent("right", call("brew"), "so", tools=[brew])]
    )
    root = SequentialAgent(name="all", sub_agents=[agent("first", call("brew"), ["x", "y"], tools=[brew]), second])

    async def turn() -> int:
        running = runner(root).run_async(
            user_id="ada",
            session_id="s1",
            new_message="tea",
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        )
        seen = 0
        with tracer.start_as_current_span("mine") if around else nullcontext():
            own = trace.get_current_span()
            async for _ in running:
                assert trace.get_current_span() is own
                seen += 1
        assert not trace.get_current_span().get_span_context().is_valid
        return seen

    assert asyncio.run(turn()) >= 8
    assert len(recording.named("invoke_agent left") + recording.named("invoke_agent right")) == 2


def test_steps_may_be_taken_in_different_tasks(runner: Callable[..., Runner], recording: Any) -> None:
    async def turn() -> None:
        running = runner(agent("waiter", call("brew"), "so", tools=[brew])).run_async(
            user_id="ada", session_id="s1", new_message="tea"
        )
        with suppress(StopAsyncIteration):
            while True:
                await asyncio.ensure_future(anext(running))

    asyncio.run(turn())
    assert recording.tree() == [
        ["invocation", ["invoke_agent waiter", "chat scripted", "execute_tool brew", "chat scripted"]]
    ]


def test_two_invocations_at_once_have_a_trace_each(runner: Callable[..., Runner], recording: Any) -> None:
    async def slow() -> str:
        """Takes its time."""
        await asyncio.sleep(0.01)
        return "done"

    async def turn(name: str) -> None:
        running = runner(agent(name, call("slow"), "so", tools=[slow]))
        async for _ in running.run_async(user_id="ada", session_id=name, new_message="tea"):
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(turn("left"), turn("right"))

    asyncio.run(both())
    inner = ["chat scripted", "execute_tool slow", "chat scripted"]
    assert sorted(recording.tree()) == [
        ["invocation", ["invoke_agent left", *inner]],
        ["invocation", ["invoke_agent right", *inner]],
    ]


def test_two_that_record_the_same_turn_have_a_tree_each(play: Any, recording: Any) -> None:
    other = type(recording)()
    cook = agent("cook", "bread", description="bakes")
    play(
        agent("waiter", call("cook", request="bread"), "so", tools=[AgentTool(agent=cook)]),
        plugins=[other.plugin(name="other")],
    )
    assert len(recording.spans) == len(other.spans) == 8
    for one in (recording, other):
        assert one.tree() == [
            [
                "invocation",
                [
                    "invoke_agent waiter",
                    "chat scripted",
                    ["execute_tool cook", ["invocation", ["invoke_agent cook", "chat scripted"]]],
                    "chat scripted",
                ],
            ]
        ]
        assert len({span.context.trace_id for span in one.spans}) == 1


# --- ends -------------------------------------------------------------------------------------------------------------


def test_closing_early_ends_every_span_and_is_no_error(runner: Callable[..., Runner], recording: Any) -> None:
    async def turn() -> None:
        running = runner(agent("waiter", ["a", "b", "c"])).run_async(
            user_id="ada",
            session_id="s1",
            new_message="tea",
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        )
        async with aclosing(running) as events:
            async for event in events:
                assert event.partial
                break

    asyncio.run(turn())
    assert recording.tree() == [["invocation", ["invoke_agent waiter", "chat scripted"]]]
    assert {span.status.status_code for span in recording.spans} == {trace.StatusCode.UNSET}


@pytest.mark.parametrize("parallel", [False, True])
def test_a_cancelled_run_ends_every_span(runner: Callable[..., Runner], recording: Any, parallel: bool) -> None:
    count = 3 if parallel else 2
    started: list[str] = []

    async def wait() -> str:
        """Waits for ever."""
        started.append("one more")
        await asyncio.Event().wait()
        return "never"

    root: BaseAgent = agent("waiter", [call("wait"), call("wait")], tools=[wait])
    if parallel:
        root = ParallelAgent(name="all", sub_agents=[root, agent("other", call("wait"), tools=[wait])])

    async def turn() -> None:
        async def drive() -> list[Event]:
            running = runner(root).run_async(user_id="ada", session_id="s1", new_message="tea")
            return [event async for event in running]

        task = asyncio.create_task(drive())
        async with asyncio.timeout(120):
            while len(started) < count:
                await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(turn())
    waits = recording.named("execute_tool wait")
    assert len(waits) == count
    assert {span.attributes["error.type"] for span in waits} == {"asyncio.exceptions.CancelledError"}
    assert recording.one("invocation").attributes["error.type"] == "asyncio.exceptions.CancelledError"
    assert len(recording.spans) == (9 if parallel else 5)


def test_a_failing_tool_marks_what_it_ended(play: Any, recording: Any) -> None:
    with pytest.raises(ValueError, match="the pot is gone"):
        play(agent("waiter", call("smash"), tools=[smash]))
    marked = {span.name: span.attributes.get("error.type") for span in recording.spans}
    assert marked == {
        "invocation": "ValueError",
        "invoke_agent waiter": "ValueError",
        "chat scripted": None,
        "execute_tool smash": "ValueError",
    }


def test_a_failure_that_is_told_to_the_model_marks_the_tool_call_only(play: Any, recording: Any) -> None:
    play(agent("waiter", call("smash"), "sorry", tools=[smash]), distribution="standard")
    marked = {span.name: span.attributes.get("error.type") for span in recording.spans}
    assert marked == {
        "invocation": None,
        "invoke_agent waiter": None,
        "chat scripted": None,
        "execute_tool smash": "ValueError",
    }
    assert recording.one("execute_tool smash").status.status_code is trace.StatusCode.ERROR


def test_of_two_calls_the_one_that_fails_cancels_the_other(play: Any, recording: Any) -> None:
    async def wait() -> str:
        """Waits for ever."""
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(ValueError, match="the pot is gone"):
        play(agent("waiter", [call("wait"), call("smash")], tools=[wait, smash]))
    assert recording.one("execute_tool wait").attributes["error.type"] == "asyncio.exceptions.CancelledError"
    assert recording.one("execute_tool smash").attributes["error.type"] == "ValueError"


def test_a_failing_model(play: Any, recording: Any) -> None:
    with pytest.raises(RuntimeError, match="out of tea"):
        play(agent("waiter", RuntimeError("out of tea")))
    assert {span.attributes["error.type"] for span in recording.spans} == {"RuntimeError"}


def test_a_failed_response_marks_the_model_call_only(play: Any, recording: Any) -> None:
    play(agent("waiter", LlmResponse(error_code="SAFETY", error_message="no")))
    assert recording.one("chat scripted").attributes["error.type"] == "SAFETY"
    assert "error.type" not in recording.one("invocation").attributes


def test_an_unknown_tool_has_a_span(play: Any, recording: Any) -> None:
    play(agent("waiter", call("juggle"), "sorry", tools=[brew]), distribution="standard")
    span = recording.one("execute_tool juggle")
    assert span.attributes["gen_ai.tool.type"] == "function"
    assert span.attributes["error.type"] == "ValueError"
