"""tool_timeout: a call that takes too long is an error result; what a tool raises itself stays its own."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from newel import Agent, tool
from newel.policies import tool_timeout
from newel.testing import Conversation, ScriptedModel
from newel.tools import FunctionTool
from newel.tools.refinement import Refinement, refined
from newel.types import FunctionCall, FunctionDeclaration
from newel_compose import compose
from newel_kernel import BaseTool, CompositionError, ConfigurationError

SOON = "settings: {tool_timeout: {seconds: 0.02}}"


class Stove:
    """A tool that takes its time, and notes how it ended."""

    def __init__(self, seconds: float = 60) -> None:
        self.ended = ""
        self._seconds = seconds

    async def boil(self) -> str:
        """Boils water."""
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        self.ended = "boiled"
        return "water"


def test_a_call_that_takes_too_long(ask: Any, call: Any) -> None:
    stove = Stove()
    outcome = ask([call("boil")], tools=[stove.boil], settings=SOON)
    assert outcome.result == {"error": "the tool boil did not answer within 0.02 s (settings: tool_timeout.seconds)"}
    assert stove.ended == "cancelled"
    assert outcome.said == "done"


def test_the_other_calls_are_not_affected(ask: Any, call: Any) -> None:
    async def brew() -> str:
        return "tea"

    outcome = ask([call("boil"), call("brew")], tools=[Stove().boil, brew], settings=SOON)
    assert "did not answer" in outcome.results[0]["error"]
    assert outcome.results[1] == {"result": "tea"}


def test_by_default_there_is_no_limit() -> None:
    assert compose("standard").settings["tool_timeout"] == tool_timeout.Settings(seconds=0, tools={})


def test_what_set_the_limit_is_said(ask: Any, call: Any) -> None:
    own = FunctionTool(Stove().boil, timeout=0.02)
    assert "(the tool's timeout)" in ask([call("boil")], tools=[own]).result["error"]
    settings = "settings: {tool_timeout: {tools: {boil: 0.02}}}"
    assert "(settings: tool_timeout.tools)" in ask([call("boil")], tools=[own], settings=settings).result["error"]


@pytest.mark.parametrize(
    "settings",
    [
        "settings: {tool_timeout: {seconds: 0.02, tools: {boil: 30}}}",
        "settings: {tool_timeout: {seconds: 0.02, tools: {boil: 0}}}",
        "settings: {tool_timeout: {seconds: 0}}",
    ],
    ids=["longer for this tool", "none for this tool", "none"],
)
def test_a_tool_that_may_take_longer(ask: Any, call: Any, settings: str) -> None:
    assert ask([call("boil")], tools=[Stove(0.06).boil], settings=settings).result == {"result": "water"}


@pytest.mark.parametrize("choice", [{"without": ["tool_timeout"]}, {"base": "adk"}], ids=["without", "adk"])
def test_without_the_policy_there_is_no_limit(ask: Any, call: Any, choice: Any) -> None:
    assert ask([call("boil")], tools=[Stove(0.06).boil], **choice).result == {"result": "water"}


def timed(stove: Stove, timeout: Any) -> FunctionTool:
    tool = FunctionTool(stove.boil)
    tool.timeout = timeout  # type: ignore[attr-defined]
    return tool


@pytest.mark.parametrize(
    ("timeout", "answers"),
    [(0.02, False), (30, True), (0, True), (-1, True), (SimpleNamespace(read=5), True), ("soon", True)],
)
def test_the_timeout_of_the_tool_itself(ask: Any, call: Any, timeout: Any, answers: bool) -> None:
    outcome = ask([call("boil")], tools=[timed(Stove(0.06), timeout)])
    assert ("error" not in outcome.result) is answers


def test_the_settings_go_before_the_tools_own_timeout(ask: Any, call: Any) -> None:
    settings = "settings: {tool_timeout: {tools: {boil: 0.02}}}"
    outcome = ask([call("boil")], tools=[timed(Stove(), 30)], settings=settings)
    assert "did not answer within 0.02 s" in outcome.result["error"]


def test_a_timeout_of_the_tools_own_is_its_error(ask: Any, call: Any) -> None:
    async def dial() -> str:
        raise TimeoutError("the line is busy")

    async def wait() -> str:
        async with asyncio.timeout(0):
            await asyncio.sleep(60)
        return "never"

    outcome = ask([call("dial"), call("wait")], tools=[dial, wait])
    assert outcome.results == [{"error": "TimeoutError: the line is busy"}, {"error": "TimeoutError: "}]
    with pytest.raises(TimeoutError, match="the line is busy"):
        ask([call("dial")], tools=[dial], without=["tool_errors"])


@pytest.mark.parametrize("seconds", ["-1", "soon", ".nan"])
def test_a_limit_that_is_none(ask: Any, call: Any, seconds: str) -> None:
    for settings in (f"seconds: {seconds}", f"tools: {{boil: {seconds}}}"):
        with pytest.raises((CompositionError, ConfigurationError), match="tool_timeout"):
            ask([call("boil")], tools=[Stove().boil], settings=f"settings: {{tool_timeout: {{{settings}}}}}")


@pytest.mark.parametrize("distribution", ["adk", "minimal"])
@pytest.mark.parametrize("give", ["function tool", "decorator", "default"])
def test_a_tool_s_own_limit_is_kept_without_the_policy(distribution: str, give: str) -> None:
    stove = Stove()

    async def boil(water: str = "cold") -> str:
        """Boils water."""
        return await stove.boil()

    made = tool(timeout=0.02)(boil) if give == "decorator" else FunctionTool(boil, timeout=0.02)
    steps = [FunctionCall(name="boil", args={} if give == "default" else {"water": "warm"}), "It is cold."]
    turn = Conversation(Agent(name="a", model=ScriptedModel(steps), tools=[made]), distribution=distribution).say()
    assert turn.results == [{"error": "the tool boil did not answer within 0.02 s (the tool's timeout)"}]
    assert stove.ended == "cancelled"


WAYS: dict[str, Any] = {
    "function tool": lambda function: FunctionTool(function, timeout=0.02),
    "decorator": lambda function: tool(timeout=0.02)(function),
    "another tool": lambda function: refined(Kettle(name="boil", description=""), Refinement(timeout=0.02)),
}


class Kettle(BaseTool):
    """A tool of one's own."""

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name)

    async def run_async(self, *, args: Any, tool_context: Any) -> Any:
        await asyncio.sleep(60)


def fewer(folder: Path, without: str) -> Path:
    file = folder / "house.yaml"
    file.write_text(f"name: house\nextends: standard\ndisable: [{without}]\n")
    return file


@pytest.mark.parametrize("distribution", ["adk", "standard", "tool_timeout", "tool_threads"])
@pytest.mark.parametrize("way", WAYS)
def test_a_synchronous_tool_s_own_limit_is_kept_everywhere(distribution: str, way: str, tmp_path: Path) -> None:
    given_up = threading.Event()

    def boil() -> str:
        """Boils water."""
        given_up.wait(60)
        return "water"

    chosen = distribution if distribution in ("adk", "standard") else fewer(tmp_path, distribution)
    agent = Agent(name="a", model=ScriptedModel([FunctionCall(name="boil"), "cold"]), tools=[WAYS[way](boil)])
    try:
        turn = Conversation(agent, distribution=chosen).say()
    finally:
        given_up.set()
    assert turn.results == [{"error": "the tool boil did not answer within 0.02 s (the tool's timeout)"}]


def test_a_synchronous_tool_in_time_answers_as_ever_without_the_policy() -> None:
    spoken = ContextVar("spoken", default="nothing")
    spoken.set("tea")

    def say() -> str:
        """Says it."""
        return f"{spoken.get()} in {threading.current_thread() is not threading.main_thread()}"

    def stop() -> str:
        """Stops."""
        raise StopIteration("enough")

    for function, outcome in ((say, "tea in True"), (stop, None)):
        model = ScriptedModel([FunctionCall(name=function.__name__), "x"])
        agent = Agent(name="a", model=model, tools=[FunctionTool(function, timeout=60)])
        talk = Conversation(agent, distribution="adk")
        if outcome is None:
            with pytest.raises(RuntimeError, match="StopIteration"):
                talk.say()
        else:
            assert talk.say().results == [{"result": outcome}]


@pytest.mark.parametrize("timeout", [None, 0])
def test_a_synchronous_tool_without_a_limit_stays_in_the_event_loop_of_adk(timeout: float | None) -> None:
    def say() -> bool:
        """Says it."""
        return threading.current_thread() is threading.main_thread()

    agent = Agent(
        name="a", model=ScriptedModel([FunctionCall(name="say"), "x"]), tools=[FunctionTool(say, timeout=timeout)]
    )
    assert Conversation(agent, distribution="adk").say().results == [{"result": True}]


def test_a_tool_that_two_distributions_share_keeps_the_limit_of_each(tmp_path: Path) -> None:
    patient = tmp_path / "patient.yaml"
    patient.write_text("name: patient\nextends: standard\nsettings: {tool_timeout: {tools: {boil: 0}}}\n")
    boil = FunctionTool(Stove(0.05).boil, timeout=0.02)
    results = []
    for distribution in ("adk", patient, "adk"):
        agent = Agent(name="a", model=ScriptedModel([FunctionCall(name="boil"), "Done."]), tools=[boil])
        results += Conversation(agent, distribution=distribution).say().results
    assert ["error" in (result or {}) for result in results] == [True, False, True]


def test_a_time_out_that_a_tool_raises_itself_stays_its_own_without_the_policy() -> None:
    async def boil() -> str:
        """Boils water."""
        raise TimeoutError("the stove is slow")

    agent = Agent(
        name="a", model=ScriptedModel([FunctionCall(name="boil"), "x"]), tools=[FunctionTool(boil, timeout=60)]
    )
    with pytest.raises(TimeoutError, match="the stove is slow"):
        Conversation(agent, distribution="adk").say()
