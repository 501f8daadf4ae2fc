"""exit_loop, get_user_choice, long-running functions, and tools of one name."""

from __future__ import annotations

from typing import Any

import pytest

from newel.agents import LlmAgent, LoopAgent
from newel.models.scripted import ScriptedModel
from newel.tools import BaseToolset, FunctionTool, LongRunningFunctionTool, exit_loop, get_user_choice
from newel_kernel import ConfigurationError, DuplicateToolError
from newel_types import Content, FunctionCall, FunctionResponse, Part


def agent(*steps: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedModel(steps), **fields)


def test_exit_loop_ends_the_loop_without_another_word(talk: Any) -> None:
    root = agent("one", FunctionCall(name="exit_loop"), tools=[exit_loop])
    events = talk(LoopAgent(name="loop", sub_agents=[root], max_iterations=5)).say("tea")
    assert len(events) == 3
    assert events[-1].actions.escalate
    assert events[-1].actions.skip_summarization


def test_the_choice_comes_as_the_calls_result(talk: Any) -> None:
    root = agent(FunctionCall(name="get_user_choice", args={"options": ["a", "b"]}), "b it is", tools=[get_user_choice])
    started = talk(root)
    (asked,) = started.say("tea")
    call = asked.get_function_calls()[0]
    assert asked.long_running_tool_ids == {call.id}
    answer = FunctionResponse(id=call.id, name=call.name, response={"choice": "b"})
    events = started.say(Content(role="user", parts=[Part(function_response=answer)]))
    assert events[-1].content.parts[0].text == "b it is"
    told = root.model.requests[1].contents[-1].parts[0]  # type: ignore[union-attr]
    assert told.function_response.response == {"choice": "b"}


def test_a_long_running_function_says_so_to_the_model() -> None:
    def submit(job: str) -> str:
        """Submit a job."""
        return job

    tool = LongRunningFunctionTool(submit)
    assert tool.is_long_running
    assert tool._get_declaration().description.startswith("Submit a job.\n\nNOTE: this operation takes a long time.")
    assert LongRunningFunctionTool(func=lambda: None).description.startswith("NOTE:")


def add(a: int) -> int:
    return a


class Math(BaseToolset):
    async def get_tools(self, readonly_context: Any = None) -> list[Any]:
        return [FunctionTool(add)]


class Other(Math):
    pass


def clash(talk: Any, *tools: Any) -> str:
    with pytest.raises(DuplicateToolError) as caught:
        talk(agent("unused", tools=list(tools))).say("tea")
    assert isinstance(caught.value, ConfigurationError)
    return str(caught.value)


def test_two_tools_of_one_name_name_both_toolsets(talk: Any) -> None:
    where = f"{__name__}."
    message = clash(talk, Math(), Other())
    assert message == (
        f"agent 'root' has two tools named 'add', one is {where}add of the toolset {where}Math, the other one "
        f"{where}add of the toolset {where}Other; rename one of them, or set the tool_name_prefix of a toolset"
    )


def test_a_prefix_can_clash_as_well(talk: Any) -> None:
    def calc_add() -> int:
        return 1

    message = clash(talk, calc_add, Math(tool_name_prefix="calc"))
    assert "two tools named 'calc_add', one is" in message
    assert "the toolset" in message
    assert "with the prefix 'calc'" in message
    assert "calc_add, the other one" in message


def test_a_tool_that_is_listed_twice_is_declared_once(talk: Any) -> None:
    root = agent("ok", tools=[add, add])
    talk(root).say("tea")
    (tool,) = root.model.requests[0].config.tools  # type: ignore[union-attr]
    assert [declared.name for declared in tool.function_declarations] == ["add"]


def test_prefixes_keep_tools_of_one_name_apart(talk: Any) -> None:
    toolsets = [Math(tool_name_prefix="a"), Other(tool_name_prefix="b")]
    root = agent(FunctionCall(name="b_add", args={"a": 2}), "ok", tools=toolsets)
    events = talk(root).say("tea")
    assert events[1].get_function_responses()[0].response == {"result": 2}
