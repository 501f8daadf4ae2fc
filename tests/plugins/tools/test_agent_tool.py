"""AgentTool: an agent as a tool."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from newel.agents import LlmAgent, SequentialAgent
from newel.models.scripted import ScriptedModel
from newel.plugins import BasePlugin
from newel.tools import AgentTool, BaseToolset, ToolContext
from newel.tools.structured_output import OutputSchemaError
from newel_kernel import LlmResponse
from newel_types import CodeExecutionResult, FunctionCall, Part


class Ask(BaseModel):
    topic: str
    depth: int = 1


class Verdict(BaseModel):
    good: bool
    note: str | None = None


def agent(name: str, *steps: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(steps), **fields)


def calling(inner: Any, args: dict[str, Any] | None = None, *, count: int = 1, **options: Any) -> LlmAgent:
    calls = [FunctionCall(name=inner.name, args=args or {"request": "please"})] * count
    return agent("root", calls, "final", tools=[AgentTool(inner, **options)])


def result(events: Any) -> Any:
    return events[1].get_function_responses()[0].response


def test_the_last_text_is_the_result_and_the_session_stays_clean(talk: Any) -> None:
    inner = agent("inner", "answer", description="Knows.")
    started = talk(calling(inner))
    assert result(started.say("tea")) == {"result": "answer"}
    assert [event.author for event in started.session.events] == ["user", "root", "root", "root"]
    asked = inner.model.requests[0]  # type: ignore[union-attr]
    assert [content.parts[0].text for content in asked.contents] == ["please"]


def test_state_goes_in_and_comes_back(talk: Any) -> None:
    def change(tool_context: ToolContext) -> str:
        state = tool_context.state
        state["seen"] = state["from_parent"]
        state["user:kept"] = [1]
        state["gone"] = None
        state["temp:scratch"] = 1
        return "ok"

    inner = agent("inner", FunctionCall(name="change"), "done", tools=[change], output_key="said")
    started = talk(calling(inner))
    started.say("tea", state_delta={"from_parent": "yes", "gone": 1, "_adk_internal": "no"})
    state = started.session.state
    assert (state["seen"], state["user:kept"], state["said"]) == ("yes", [1], "done")
    assert "gone" not in state
    assert "temp:scratch" not in state


def test_what_the_agent_changes_in_place_reaches_the_caller_once_as_an_assignment_does(talk: Any) -> None:
    def grow(tool_context: ToolContext) -> int:
        tool_context.state["list"].append(1)
        return len(tool_context.state["list"])

    inner = agent("inner", FunctionCall(name="grow"), "done", tools=[grow])
    started = talk(calling(inner))
    started.say("tea", state_delta={"list": []})
    assert started.session.state["list"] == [1]


def test_an_input_schema_is_the_declaration(talk: Any) -> None:
    inner = agent("inner", "ok", description="Digs.", input_schema=Ask)
    root = calling(inner, {"topic": "sea", "depth": 3})
    assert result(talk(root).say("tea")) == {"result": "ok"}
    declared = root.model.requests[0].config.tools[0].function_declarations[0]  # type: ignore[union-attr]
    assert (declared.name, declared.description) == ("inner", "Digs.")
    assert declared.parameters_json_schema == {
        "type": "object",
        "properties": {"topic": {"type": "string"}, "depth": {"type": "integer", "default": 1}},
        "required": ["topic"],
    }
    assert inner.model.requests[0].contents[0].parts[0].text == '{"topic":"sea","depth":3}'  # type: ignore[union-attr]


@pytest.mark.parametrize("args", [{"depth": "deep"}, {"topic": 1}])
def test_arguments_that_do_not_fit_are_told_to_the_model(talk: Any, args: dict[str, Any]) -> None:
    inner = agent("inner", input_schema=Ask)
    assert result(talk(calling(inner, args)).say("tea"))["error"].startswith("Invoking `inner()` failed")


def test_a_request_is_needed(talk: Any) -> None:
    inner = agent("inner")
    assert "`request` must be a string" in result(talk(calling(inner, {"question": "?"})).say("tea"))["error"]


def test_an_output_schema_makes_data(talk: Any) -> None:
    inner = agent("inner", '{"good": true, "note": null}', output_schema=Verdict)
    assert result(talk(calling(inner)).say("tea")) == {"good": True}
    wrong = agent("inner", '{"good": "perhaps"}', output_schema=Verdict)
    with pytest.raises(OutputSchemaError, match=r"agent .inner.*good"):
        talk(calling(wrong)).say("tea")


def test_a_pipeline_has_the_schemas_of_its_ends(talk: Any) -> None:
    ends = [agent("a", "one", input_schema=Ask), agent("b", '{"good": false}', output_schema=Verdict)]
    pipe = SequentialAgent(name="pipe", sub_agents=ends)
    assert result(talk(calling(pipe, {"topic": "tea"})).say("tea")) == {"good": False}


def test_skip_summarization_ends_the_turn(talk: Any) -> None:
    events = talk(calling(agent("inner", "raw"), skip_summarization=True)).say("tea")
    assert len(events) == 2
    assert events[-1].actions.skip_summarization


def test_thoughts_stay_inside_and_code_output_counts(talk: Any) -> None:
    parts = [
        Part(text="hm", thought=True),
        Part(text="so"),
        Part(code_execution_result=CodeExecutionResult(output="42\n", outcome="OUTCOME_OK")),
        Part(text="done"),
    ]
    assert result(talk(calling(agent("inner", parts))).say("tea")) == {"result": "so\n42\ndone"}


@pytest.mark.parametrize(
    ("distribution", "told"), [("adk", {"result": ""}), ("standard", {"error": "SAFETY: blocked"})]
)
def test_a_model_that_only_fails(talk: Any, distribution: str, told: dict[str, str]) -> None:
    inner = agent("inner", LlmResponse(error_code="SAFETY", error_message="blocked"))
    assert result(talk(calling(inner), distribution=distribution).say("tea")) == told


def test_artifacts_are_the_callers(talk: Any) -> None:
    async def keep(tool_context: ToolContext) -> list[str]:
        await tool_context.save_artifact("note.txt", Part(text="hi"))
        return await tool_context.list_artifacts()

    started = talk(calling(agent("inner", FunctionCall(name="keep"), "kept", tools=[keep])))
    events = started.say("tea")
    assert events[1].actions.artifact_delta == {"note.txt": 0}
    where = {"app_name": "tearoom", "user_id": "ada", "session_id": "s1"}
    assert asyncio.run(started.runner.artifact_service.list_artifact_keys(**where)) == ["note.txt"]


class Watcher(BasePlugin):
    def __init__(self) -> None:
        super().__init__(name="watcher")
        self.agents: list[str] = []

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        self.agents.append(agent.name)


@pytest.mark.parametrize(("include", "seen"), [(True, ["root", "inner"]), (False, ["root"])])
def test_plugins_see_the_agent_run_where_they_are_to(talk: Any, include: bool, seen: list[str]) -> None:
    watcher = Watcher()
    started = talk(calling(agent("inner", "x"), include_plugins=include), plugins=[watcher])
    assert result(started.say("tea")) == {"result": "x"}
    assert watcher.agents == seen


class Counted(BaseToolset):
    def __init__(self) -> None:
        super().__init__()
        self.closed: list[int] = []
        self.asked = 0

    async def get_tools(self, readonly_context: Any = None) -> list[Any]:
        assert not self.closed, "closed while another call uses it"
        self.asked += 1
        await asyncio.sleep(0.01)
        return []

    async def close(self) -> None:
        self.closed.append(self.asked)


def test_toolsets_close_once_the_last_call_has_ended(talk: Any) -> None:
    toolset = Counted()
    inner = agent("inner", "one", "two", tools=[toolset])
    talk(calling(inner, count=2)).say("tea")
    assert toolset.closed == [2]


class Stuck(Counted):
    async def close(self) -> None:
        raise OSError("stuck")


def test_a_toolset_that_does_not_close_costs_a_warning_only(talk: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert result(talk(calling(agent("inner", "fine", tools=[Stuck()]))).say("tea")) == {"result": "fine"}
    assert "after the agent 'inner' ran as a tool: not everything closed: Stuck: OSError: stuck" in caplog.text


def test_a_failure_of_the_agent_is_a_failure_of_the_tool(talk: Any) -> None:
    toolset = Counted()
    with pytest.raises(RuntimeError, match="kaput"):
        talk(calling(agent("inner", RuntimeError("kaput"), tools=[toolset]))).say("tea")
    assert toolset.closed == [1]


def test_an_agent_tool_may_use_an_agent_tool(talk: Any) -> None:
    innermost = agent("innermost", "deep")
    middle = agent(
        "middle", FunctionCall(name="innermost", args={"request": "?"}), "middle says", tools=[AgentTool(innermost)]
    )
    assert result(talk(calling(middle)).say("tea")) == {"result": "middle says"}
