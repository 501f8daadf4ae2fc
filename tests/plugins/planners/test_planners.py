"""Planners, in conversations."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.agents import LlmAgent
from newel.models import BaseLlm
from newel.planners import BasePlanner, BuiltInPlanner, PlanReActPlanner
from newel.testing import Conversation, ScriptedModel
from newel_kernel import Event, LlmResponse, RunConfig, StreamingMode
from newel_types import Content, FunctionCall, GenerateContentConfig, Part, ThinkingConfig


def run(agent: LlmAgent, *messages: str) -> list[Event]:
    chat = Conversation(agent, distribution="adk")
    return [event for message in messages for event in chat.say(message)]


def agent(planner: Any, *steps: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedModel(steps), planner=planner, **fields)


def parts(event: Event) -> list[tuple[str | None, bool | None]]:
    assert event.content is not None
    return [(part.text, part.thought) for part in event.content.parts or ()]


def test_plan_react_asks_for_its_tags() -> None:
    root = agent(PlanReActPlanner(), "ok")
    run(root, "go")
    told = root.model.requests[0].config.system_instruction  # type: ignore[union-attr]
    for tag in ("PLANNING", "REPLANNING", "ACTION", "REASONING", "FINAL_ANSWER"):
        assert f"/*{tag}*/" in told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/*PLANNING*/ a /*FINAL_ANSWER*/ 42", [("/*PLANNING*/ a /*FINAL_ANSWER*/", True), (" 42", None)]),
        ("/*FINAL_ANSWER*/ x /*FINAL_ANSWER*/y", [("/*FINAL_ANSWER*/ x /*FINAL_ANSWER*/", True), ("y", None)]),
        ("/*FINAL_ANSWER*/", [("/*FINAL_ANSWER*/", True)]),
        ("/*REASONING*/ hm", [("/*REASONING*/ hm", True)]),
        ("/*REPLANNING*/ hm", [("/*REPLANNING*/ hm", True)]),
        ("see /*PLANNING*/", [("see /*PLANNING*/", None)]),
        ("plain", [("plain", None)]),
    ],
)
def test_what_is_tagged_is_thought(text: str, expected: Any) -> None:
    assert parts(run(agent(PlanReActPlanner(), text), "go")[0]) == expected


def test_the_plan_is_the_models_own_text_again_in_the_next_request() -> None:
    root = agent(PlanReActPlanner(), "/*PLANNING*/ a /*FINAL_ANSWER*/b", "next")
    run(root, "go", "on")
    said = root.model.requests[1].contents[1].parts  # type: ignore[union-attr]
    assert [(part.text, part.thought) for part in said] == [("/*PLANNING*/ a /*FINAL_ANSWER*/", None), ("b", None)]


def f(x: int = 0) -> int:
    return x


def test_the_first_group_of_calls_ends_the_answer_and_nameless_calls_are_dropped() -> None:
    steps = [
        Part(text="/*ACTION*/"),
        FunctionCall(name=""),
        FunctionCall(name="f", args={"x": 1}),
        FunctionCall(name="f", args={"x": 2}),
        Part(text="the result is 3"),
        FunctionCall(name="f"),
    ]
    events = run(agent(PlanReActPlanner(), steps, "/*FINAL_ANSWER*/done", tools=[f]), "go")
    assert [call.args for call in events[0].get_function_calls()] == [{"x": 1}, {"x": 2}]
    assert parts(events[0])[0] == ("/*ACTION*/", True)
    assert parts(events[2]) == [("/*FINAL_ANSWER*/", True), ("done", None)]


def test_a_signature_stays_with_the_answer() -> None:
    signed = [Part(text="/*REASONING*/a/*FINAL_ANSWER*/b", thought_signature=b"s")]
    planned = PlanReActPlanner().process_planning_response(None, signed)  # type: ignore[arg-type]
    assert planned is not None
    assert [part.thought_signature for part in planned] == [None, b"s"]
    assert signed[0].thought is None


@pytest.mark.parametrize("given", [ThinkingConfig(thinking_budget=9, include_thoughts=True), {"thinkingBudget": 9}])
def test_built_in_configures_thinking_and_nothing_else(given: Any) -> None:
    own = GenerateContentConfig(temperature=0.5, thinking_config=ThinkingConfig(thinking_budget=1))
    root = agent(BuiltInPlanner(thinking_config=given), "/*PLANNING*/ stays", generate_content_config=own)
    events = run(root, "go")
    config = root.model.requests[0].config  # type: ignore[union-attr]
    assert (config.thinking_config.thinking_budget, config.temperature) == (9, 0.5)
    assert parts(events[0]) == [("/*PLANNING*/ stays", None)]


class Rhymes(BasePlanner):
    def build_planning_instruction(self, readonly_context: Any, llm_request: Any) -> str:
        return f"Rhyme, {readonly_context.agent_name}."

    def process_planning_response(self, callback_context: Any, response_parts: Any) -> Any:
        callback_context.state["rhymed"] = True
        return None


def test_a_planner_of_ones_own() -> None:
    root = agent(Rhymes(), "ok")
    events = run(root, "go")
    assert "Rhyme, root." in root.model.requests[0].config.system_instruction  # type: ignore[union-attr]
    assert events[0].actions.state_delta == {"rhymed": True}


_PIECES = st.sampled_from(["/*PLANNING*/", "/*ACTION*/", "/*REASONING*/", "plan ", "/*", "*/", "a", "/*FINAL", "\n"])


@settings(deadline=None)
@given(st.lists(_PIECES, max_size=6), st.sampled_from(["", "/*FINAL_ANSWER*/"]), st.text(max_size=9), st.data())
def test_chunks_are_sorted_as_the_whole(before: list[str], tag: str, answer: str, data: st.DataObject) -> None:
    text = "".join(before) + tag + answer
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    stream = PlanReActPlanner().plan_stream()
    shown = [part for a, b in pairwise(cuts) for part in stream.parts_of([Part(text=text[a:b])])]
    whole = PlanReActPlanner().process_planning_response(None, [Part(text=text)]) or []  # type: ignore[arg-type]
    for thought in (True, None):
        said = "".join(part.text or "" for part in shown if part.thought is thought)
        assert "".join(part.text or "" for part in whole if part.thought is thought).startswith(said)
    if tag:
        assert "".join(part.text or "" for part in shown) == text


@pytest.mark.parametrize(("distribution", "leaks"), [("standard", False), ("adk", True)])
def test_a_streamed_plan_is_a_thought(distribution: str, leaks: bool) -> None:
    chunks = ["/*PLA", "NNING*/ look ", "it up /*FINAL_", "ANSWER*/ It is", " 4."]
    pieces = [LlmResponse(content=Content(role="model", parts=[Part(text=one)]), partial=True) for one in chunks]
    whole = LlmResponse(content=Content(role="model", parts=[Part(text="".join(chunks))]))

    class Streaming(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            for response in (*pieces, whole) if stream else (whole,):
                yield response.model_copy(deep=True)

    root = LlmAgent(name="root", model=Streaming(model="m"), planner=PlanReActPlanner())
    chat = Conversation(root, distribution=distribution)
    for _ in range(2):
        turn = chat.say("go", run_config=RunConfig(streaming_mode=StreamingMode.SSE))
        said = "".join(p.text or "" for event in turn if event.partial for p in event.content.parts if not p.thought)
        assert said == ("".join(chunks) if leaks else " It is 4.")
        assert [p.text for p in turn[-1].content.parts if not p.thought] == [" It is 4."]
