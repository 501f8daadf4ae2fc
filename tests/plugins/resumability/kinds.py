"""Agents that contain agents, of every kind, around one whose tool needs the user's approval.

A kind is a row of KINDS: how it is built around an agent, and how often that agent runs in it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from newel.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.apps import App, ResumabilityConfig
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.runners import Runner
from newel.tools import AgentTool, FunctionTool, ToolContext
from newel.workflow import Workflow
from newel_compose import compose
from newel_kernel import BaseSessionService, Event
from newel_types import Content, FunctionCall, FunctionResponse, Part

CONFIRM = "adk_request_confirmation"
WHERE = {"user_id": "ada"}

#: Composes a distribution once: there are thousands of runners here.
composed = cache(compose)


class Caller(BaseLlm):
    """A model that calls one tool, once for each time that its agent runs, and then says that it is done."""

    call: str
    args: dict[str, Any] = Field(default_factory=dict)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = llm_request.contents[-1].parts or []
        if any(part.function_response is not None for part in parts):
            said = Part(text="done")
        else:
            said = Part(function_call=FunctionCall(name=self.call, args=dict(self.args)))
        yield LlmResponse(content=Content(role="model", parts=[said]))


Effect = Callable[[str, str], None]


@dataclass(frozen=True)
class Kind:
    """`build(name, inner, step)` puts `inner` into an agent of this kind; `step(name)` makes a further agent."""

    build: Callable[[str, BaseAgent, Callable[[str], BaseAgent]], BaseAgent]
    rounds: int = 1
    steps: int = 1


def _sequential(name: str, inner: BaseAgent, step: Callable[[str], BaseAgent]) -> BaseAgent:
    return SequentialAgent(name=name, sub_agents=[step(f"{name}_first"), inner, step(f"{name}_last")])


def _loop(name: str, inner: BaseAgent, step: Callable[[str], BaseAgent]) -> BaseAgent:
    return LoopAgent(name=name, max_iterations=2, sub_agents=[inner, step(f"{name}_last")])


def _parallel(name: str, inner: BaseAgent, step: Callable[[str], BaseAgent]) -> BaseAgent:
    return ParallelAgent(name=name, sub_agents=[inner, step(f"{name}_side")])


def _transfer(name: str, inner: BaseAgent, step: Callable[[str], BaseAgent]) -> BaseAgent:
    model = Caller(model="caller", call="transfer_to_agent", args={"agent_name": inner.name})
    return LlmAgent(name=name, model=model, sub_agents=[inner])


def _agent_tool(name: str, inner: BaseAgent, step: Callable[[str], BaseAgent]) -> BaseAgent:
    model = Caller(model="caller", call=inner.name, args={"request": "go on"})
    return LlmAgent(name=name, model=model, tools=[AgentTool(inner)])


def _graph(name: str, inner: BaseAgent, step: Callable[[str], BaseAgent]) -> BaseAgent:
    return Workflow(name=name, edges=[("START", step(f"{name}_first"), inner, step(f"{name}_last"))])


KINDS = {
    "sequential": Kind(_sequential, steps=2),
    "loop": Kind(_loop, rounds=2),
    "parallel": Kind(_parallel),
    "transfer": Kind(_transfer, steps=0),
    "agent_tool": Kind(_agent_tool, steps=0),
    "graph": Kind(_graph, steps=2),
}
PAIRS = [(outer, inner) for outer in KINDS for inner in KINDS]


def expected(outer: str, inner: str) -> dict[str, int]:
    """How often each tool is to run."""
    one, two = KINDS[outer], KINDS[inner]
    notes = one.rounds * (one.steps + two.rounds * two.steps)
    return {"wipe": one.rounds * two.rounds} | ({"note": notes} if notes else {})


def build(outer: str, inner: str, effect: Effect) -> BaseAgent:
    """The agent of kind `outer` around one of kind `inner`; each run of a tool calls `effect(tool, call id)`."""

    def wipe(path: str, tool_context: ToolContext) -> str:
        """Wipe a path."""
        effect("wipe", str(tool_context.function_call_id))
        return "wiped"

    def note(tool_context: ToolContext) -> str:
        """Take a note."""
        effect("note", str(tool_context.function_call_id))
        return "noted"

    def step(name: str) -> BaseAgent:
        return LlmAgent(name=name, model=Caller(model="caller", call="note"), tools=[note])

    worker = LlmAgent(
        name="worker",
        model=Caller(model="caller", call="wipe", args={"path": "/p"}),
        tools=[FunctionTool(wipe, require_confirmation=True)],
    )
    return KINDS[outer].build("outer", KINDS[inner].build("inner", worker, step), step)


def make_runner(outer: str, inner: str, store: BaseSessionService, effect: Effect, distribution: str) -> Runner:
    app = App(
        name="app",
        root_agent=build(outer, inner, effect),
        resumability_config=ResumabilityConfig(is_resumable=True),
    )
    return Runner(app=app, session_service=store, auto_create_session=True, composition=composed(distribution))


async def unanswered(store: BaseSessionService, session_id: str) -> dict[str, str]:
    """The ids of the requests that the user has yet to answer, each with its invocation."""
    session = await store.get_session(app_name="app", user_id="ada", session_id=session_id)
    assert session is not None
    found: dict[str, str] = {}
    for event in session.events:
        for response in event.get_function_responses():
            found.pop(response.id or "", None)
        for call in event.get_function_calls():
            if call.name == CONFIRM:
                found[str(call.id)] = event.invocation_id
    return found


def answer(ids: Iterator[str] | list[str], confirmed: bool = True) -> Content:
    parts = [
        Part(function_response=FunctionResponse(id=id_, name=CONFIRM, response={"confirmed": confirmed})) for id_ in ids
    ]
    return Content(role="user", parts=parts)


async def send(runner: Runner, session_id: str, message: Any = None, invocation_id: str | None = None) -> list[Event]:
    run = runner.run_async(**WHERE, session_id=session_id, new_message=message, invocation_id=invocation_id)
    return [event async for event in run]


def file_effect(path: Path, label: str) -> Effect:
    """Writes a line into a file for each run of a tool."""

    def effect(tool: str, call_id: str) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{label} {tool} {call_id}\n")

    return effect
