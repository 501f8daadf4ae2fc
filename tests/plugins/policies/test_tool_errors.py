"""tool_errors, unknown_tools, unknown_agents: what goes wrong is told to the model, and the run goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.tools import ToolContext
from newel_kernel import ToolAbortedError

ENDING = [SystemExit(7), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]
names_of = [type(error).__name__ for error in ENDING]


def raising(error: BaseException, sync: bool = False) -> Any:
    async def bad() -> str:
        """Fails."""
        raise error

    def sync_bad() -> str:
        """Fails."""
        raise error

    return sync_bad if sync else bad


class Mute(ValueError):
    """An error without a text."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("sync", [False, True])
def test_an_error_is_told_to_the_model(ask: Any, call: Any, sync: bool) -> None:
    tool = raising(ValueError("no tea"), sync)
    outcome = ask([call(tool.__name__)], tools=[tool])
    assert outcome.result == {"error": "ValueError: no tea"}
    assert outcome.said == "done"
    told = outcome.requests[-1].contents[-1].parts[0].function_response
    assert told.response == outcome.result


def test_without_the_policy_an_error_ends_the_run(ask: Any, call: Any) -> None:
    with pytest.raises(ValueError, match="no tea"):
        ask([call("bad")], tools=[raising(ValueError("no tea"))], without=["tool_errors"])
    with pytest.raises(ValueError, match="no tea"):
        ask([call("bad")], tools=[raising(ValueError("no tea"))], base="adk")


def test_the_agents_own_callback_answers_first(ask: Any, call: Any) -> None:
    def sorry(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, Any]:
        return {"sorry": str(error)}

    outcome = ask([call("bad")], tools=[raising(ValueError("no tea"))], on_tool_error_callback=sorry)
    assert outcome.result == {"sorry": "no tea"}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("a\x00b \ud800"), "ValueError: a\ufffdb \ufffd"),
        (Mute(), "Mute: <Mute, whose text cannot be had: RuntimeError>"),
        (ValueError(10**5000), "ValueError: <ValueError, whose text cannot be had: ValueError>"),
        (RuntimeError(), "RuntimeError: "),
    ],
    ids=["hostile text", "no text", "huge number", "empty"],
)
def test_an_error_whose_text_is_hostile(ask: Any, call: Any, error: Exception, told: str) -> None:
    assert ask([call("bad")], tools=[raising(error)]).result == {"error": told}


def test_a_long_error_is_cut(ask: Any, call: Any) -> None:
    told = ask([call("bad")], tools=[raising(ValueError("m" * 5_000_000))]).result["error"]
    assert told.endswith("… (4998000 more characters)")
    assert len(told) < 2_100


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("error", ENDING, ids=names_of)
def test_what_would_end_the_process_is_an_error_result(
    ask: Any, call: Any, error: BaseException, sync: bool, together: bool
) -> None:
    async def brew() -> str:
        return "tea"

    tool = raising(error, sync)
    outcome = ask([call(tool.__name__), *[call("brew")] * together], tools=[tool, brew])
    assert outcome.results[0]["error"].startswith(f"ToolAbortedError: the tool {tool.__name__!r}")
    assert f"raised {type(error).__name__}" in outcome.results[0]["error"]
    assert outcome.results[1:] == [{"result": "tea"}] * together
    assert outcome.said == "done"


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("error", ENDING, ids=names_of)
def test_what_would_end_the_process_ends_the_run_loudly(
    ask: Any, call: Any, error: BaseException, sync: bool, together: bool
) -> None:
    tool = raising(error, sync)
    with pytest.raises(ToolAbortedError, match=rf"the tool '{tool.__name__}' .* raised {type(error).__name__}"):
        ask([call(tool.__name__)] * (1 + together), tools=[tool], base="adk")


def test_an_unknown_tool_is_answered_with_the_names_there_are(ask: Any, call: Any) -> None:
    async def brew() -> str:
        return "tea"

    outcome = ask([call("braw"), call("brew")], tools=[brew])
    assert "Tool 'braw' not found" in outcome.results[0]["error"]
    assert "brew" in outcome.results[0]["error"].split("Available tools:")[1]
    assert outcome.results[1] == {"result": "tea"}
    assert outcome.said == "done"


@pytest.mark.parametrize("choice", [{"without": ["unknown_tools"]}, {"base": "adk"}], ids=["without", "adk"])
def test_without_the_policy_an_unknown_tool_ends_the_run(ask: Any, call: Any, choice: Any) -> None:
    with pytest.raises(ValueError, match="Tool 'braw' not found"):
        ask([call("braw")], **choice)


def test_an_unknown_tool_of_a_hostile_name_where_calls_are_not_cleaned(ask: Any, call: Any) -> None:
    told = ask([call("x" * 5000 + "\x00")], without=["tool_calls"]).result["error"]
    assert len(told) < 2_100
    assert "\x00" not in told


def transferring(target: Any) -> Any:
    def hand_over(tool_context: ToolContext) -> str:
        """Hands over."""
        tool_context.state["asked"] = True
        tool_context.actions.transfer_to_agent = target
        return "handed over"

    return hand_over


def test_a_transfer_to_an_unknown_agent_is_answered_with_the_names_there_are(ask: Any, call: Any) -> None:
    cook = LlmAgent(name="cook", model="scripted")
    outcome = ask([call("transfer_to_agent", agent_name="cock\x00")], sub_agents=[cook])
    assert outcome.result == {
        "error": "there is no agent named 'cock\ufffd'; you can transfer to: cook; did you mean 'cook'?"
    }
    assert {event.author for event in outcome.events} == {"waiter"}
    assert all(event.actions.transfer_to_agent is None for event in outcome.session.events)
    assert outcome.said == "done"


def test_only_the_transfer_is_taken_back(ask: Any, call: Any) -> None:
    outcome = ask([call("hand_over")], tools=[transferring("nobody")])
    assert outcome.session.state == {"asked": True}
    assert "there is no agent named 'nobody'" in outcome.result["error"]


def test_a_transfer_to_an_agent_that_there_is(ask: Any, call: Any, scripted_model: Any) -> None:
    cook = LlmAgent(name="cook", model=scripted_model(["soup"]))

    class Handing(LlmAgent):
        """Its own model is not asked again."""

    outcome = ask([call("hand_over")], tools=[transferring("cook")], sub_agents=[cook], agent=Handing)
    assert outcome.result == {"result": "handed over"}
    assert (outcome.events[-1].author, outcome.said) == ("cook", "soup")


@pytest.mark.parametrize("choice", [{"without": ["unknown_agents"]}, {"base": "adk"}], ids=["without", "adk"])
def test_without_the_policy_a_transfer_to_an_unknown_agent_ends_the_run(ask: Any, call: Any, choice: Any) -> None:
    with pytest.raises(ValueError, match="Agent nobody not found in the agent tree"):
        ask([call("hand_over")], tools=[transferring("nobody")], **choice)
