"""Limits reach into agents as tools: one budget of model calls, and how deep they go."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent, RunConfig
from newel.apps import App, ResumabilityConfig
from newel.models import BaseLlm
from newel.testing import Conversation
from newel.tools import AgentTool
from newel.workflow import Workflow
from newel_kernel import LlmCallsLimitExceededError, LlmRequest, LlmResponse
from newel_types import Content, FunctionCall, Part


class Looping(BaseLlm):
    """Calls one tool for ever, and counts how often it is asked."""

    model: str = "looping"
    tool: str
    asked: int = 0

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        self.asked += 1
        call = FunctionCall(name=self.tool, args={"request": "more"})
        yield LlmResponse(content=Content(role="model", parts=[Part(function_call=call)]))


class Echoing(Looping):
    """Calls its tool until that has answered."""

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        part = (llm_request.contents[-1].parts or [Part()])[-1]
        if (response := part.function_response) is not None:
            yield LlmResponse(content=Content(role="model", parts=[Part(text=str(response.response))]))
            return
        async for one in super().generate_content_async(llm_request, stream):
            yield one


def again(request: str) -> str:
    """Does it again."""
    return "again"


def outer(model: BaseLlm, inner: BaseLlm) -> LlmAgent:
    looped = LlmAgent(name="looped", model=inner, tools=[again])
    return LlmAgent(name="outer", model=model, tools=[AgentTool(looped)])


@pytest.mark.parametrize("distribution", ["adk", "standard"])
@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("graph", [False, True])
def test_one_budget_for_the_invocation(distribution: str, resumable: bool, graph: bool) -> None:
    async def run() -> None:
        first, second = Looping(tool="looped"), Looping(tool="again")
        root: Any = outer(first, second)
        root = Workflow(name="graph", edges=[("START", root)]) if graph else root
        app = App(name="tea", root_agent=root, resumability_config=ResumabilityConfig(is_resumable=resumable))
        with pytest.raises(LlmCallsLimitExceededError, match="`5`"):
            await Conversation(app, distribution=distribution).send("go", run_config=RunConfig(max_llm_calls=5))
        assert first.asked + second.asked == 5

    asyncio.run(run())


@pytest.mark.parametrize(("settings", "deep"), [({}, 10), ({"agent_calls": {"max_depth": 2}}, 2)])
def test_an_agent_that_has_itself_as_a_tool_goes_so_deep(tmp_path: Path, settings: Any, deep: int) -> None:
    async def run() -> None:
        model = Echoing(tool="mirror")
        mirror = LlmAgent(name="mirror", model=model)
        mirror.tools = [AgentTool(mirror)]
        house = tmp_path / "house.yaml"
        house.write_text(json.dumps({"extends": "standard", "settings": settings}))
        turn = await Conversation(mirror, distribution=house).send("go")
        assert model.asked == deep + 1
        assert "agent_calls.max_depth" in turn.text

    asyncio.run(run())
