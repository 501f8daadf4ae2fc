"""The examples of the specification's chapter on tasks, as printed but for the models."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel

from newel import types
from newel.agents import LlmAgent
from newel.agents.llm.task._finish_task_tool import FinishTaskTool
from newel.runners import InMemoryRunner
from newel.testing import ScriptedModel
from newel.tools.function_tool import FunctionTool


class ResearchOutput(BaseModel):
    summary: str
    sources: list[str]
    confidence: float


async def web_search(query: str) -> str:
    return f"Results for: {query}"


def call(name: str, **args: object) -> types.FunctionCall:
    return types.FunctionCall(name=name, args=args)


def test_a_typed_task_agent() -> None:
    payload = {"summary": "s", "sources": ["a"], "confidence": 0.92}
    research_agent = LlmAgent(
        name="researcher",
        model=ScriptedModel(
            [
                call("web_search", query="tides"),
                call("finish_task", summary=42, sources="not a list", confidence="high"),
                call("finish_task", **payload),
            ]
        ),
        mode="task",  # task agent — FinishTaskTool injected automatically
        output_schema=ResearchOutput,  # _DefaultTaskOutput replaced by ResearchOutput
        input_schema=None,  # uses _DefaultTaskInput (goal + background)
        instruction=(
            "Research the given goal thoroughly. "
            "Call finish_task with a structured summary, source list, and confidence score."
        ),
        tools=[FunctionTool(fn=web_search)],
    )
    coordinator = LlmAgent(
        name="coordinator",
        model=ScriptedModel([call("researcher", goal="tides"), "They come twice a day."]),
        instruction="Delegate research tasks to the researcher sub-agent.",
        sub_agents=[research_agent],
    )
    assert isinstance(research_agent.tools[-1], FinishTaskTool)

    async def main() -> None:
        async with InMemoryRunner(agent=coordinator, app_name="app") as runner:
            message = types.Content(role="user", parts=[types.Part.from_text("Tell me about tides.")])
            events = [e async for e in runner.run_async(user_id="u", session_id="s", new_message=message)]
        responses = [response for event in events for response in event.get_function_responses()]
        assert [r.name for r in responses] == ["web_search", "finish_task", "finish_task", "researcher"]
        assert "3 validation errors for ResearchOutput" in responses[1].response["error"]
        assert responses[3].response == payload
        assert [event.output for event in events if event.output is not None] == [payload]
        assert events[-1].content.parts[0].text == "They come twice a day."

    asyncio.run(main())
