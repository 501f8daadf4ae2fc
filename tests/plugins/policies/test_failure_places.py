"""failure_places: the error of somebody else's code keeps its type and message, and a note says where it was raised."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from newel.agents import LlmAgent, ParallelAgent, SequentialAgent
from newel.models import BaseLlm
from newel.policies import failure_places
from newel.testing import Conversation, ScriptedModel
from newel.tools import AgentTool, BaseTool
from newel.workflow import Workflow
from newel_kernel import BaseAgent, ConfigurationError, Event, InvocationContext


class BrokenError(Exception):
    """An error of somebody else's library."""


def fail(*args: Any, **keywords: Any) -> Any:
    raise BrokenError("the kettle is broken")


def boil() -> str:
    """Boil water."""
    raise BrokenError("the kettle is broken")


class Kettle(BaseTool):
    """A tool of a class of its own, which fails as it puts itself into the request."""

    async def process_llm_request(self, **keywords: Any) -> None:
        fail()


class BrokenModel(BaseLlm):
    """A model of the user's that fails."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[Any, None]:
        fail()
        yield


class Cook(BaseAgent):
    """An agent of a class of its own that fails."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        fail()
        yield


def quiet() -> str:
    """Do something that works."""
    return "done"


def model() -> ScriptedModel:
    return ScriptedModel([{"call": "boil"}, "done"])


def agent(name: str = "clerk", **fields: Any) -> LlmAgent:
    return LlmAgent(**{"name": name, "model": model(), **fields})


def node(node_input: object) -> object:
    return fail()


def outer() -> LlmAgent:
    asks = ScriptedModel([{"call": "cook", "args": {"request": "tea"}}, "done"])
    return agent("outer", model=asks, tools=[AgentTool(Cook(name="cook"))])


def in_callback(hook: str) -> LlmAgent:
    return agent(model=ScriptedModel([{"call": "quiet"}, "done"]), tools=[quiet], **{hook: fail})


ROOTS: dict[str, tuple[Callable[[], BaseAgent], str]] = {
    "tool": (lambda: agent(tools=[boil]), "the tool 'boil' of the agent 'clerk'"),
    "request of a tool": (
        lambda: agent(tools=[Kettle(name="kettle", description="")]),
        "the tool 'kettle' of the agent 'clerk'",
    ),
    "model": (lambda: agent(model=BrokenModel(model="mine")), "the model 'mine' of the agent 'clerk'"),
    "agent": (lambda: Cook(name="cook"), "the agent 'cook'"),
    "nested": (lambda: SequentialAgent(name="kitchen", sub_agents=[Cook(name="cook")]), "the agent 'cook'"),
    "parallel": (
        lambda: ParallelAgent(name="kitchen", sub_agents=[agent(tools=[boil])]),
        "the tool 'boil' of the agent 'clerk'",
    ),
    "node": (lambda: Workflow(name="flow", edges=[("START", node)]), "the node 'flow@1/node@1' of the agent 'flow'"),
    "agent in a graph": (
        lambda: Workflow(name="flow", edges=[("START", agent(tools=[boil]))]),
        "the tool 'boil' of the agent 'clerk'",
    ),
    "agent as a tool": (outer, "the agent 'cook'"),
}
HOOKS = [f"{when}_{what}_callback" for when in ("before", "after") for what in ("agent", "model", "tool")]


def raised_by(root: BaseAgent, **fields: Any) -> BaseException:
    async def run() -> None:
        await Conversation(root, **fields).send("tea")

    with pytest.raises(BrokenError) as caught:
        asyncio.run(run())
    assert str(caught.value) == "the kettle is broken"
    return caught.value


@pytest.mark.parametrize("root", ROOTS)
def test_a_note_names_the_innermost_place(root: str) -> None:
    make, expected = ROOTS[root]
    error = raised_by(make(), distribution="adk", plugins=[failure_places])
    assert error.__notes__ == [f"raised in {expected}"]


@pytest.mark.parametrize("hook", HOOKS)
def test_a_note_names_the_callback_and_its_file(hook: str) -> None:
    (note,) = raised_by(in_callback(hook), distribution="standard").__notes__
    assert note.startswith(f"raised in the callback {hook} (agent 'clerk'")
    assert "test_failure_places.py:" in note
    assert note.endswith("of the agent 'clerk'")


def test_an_error_that_cannot_be_changed_leaves_unchanged() -> None:
    @dataclass(frozen=True)
    class FrozenError(BrokenError):
        text: str

        def __str__(self) -> str:
            return self.text

    def refuse(**keywords: Any) -> None:
        raise FrozenError("the kettle is broken")

    error = raised_by(agent(before_agent_callback=refuse), distribution="standard")
    assert type(error) is FrozenError


def test_what_newel_says_itself_gets_no_note() -> None:
    def refuse(**keywords: Any) -> None:
        raise ConfigurationError("set the kettle")

    async def run() -> None:
        await Conversation(agent(before_agent_callback=refuse), distribution="standard").send("tea")

    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(run())
    assert not hasattr(caught.value, "__notes__")
