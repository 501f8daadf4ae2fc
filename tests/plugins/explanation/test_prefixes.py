"""Which step broke the prefix that a provider could have read: named by playing two requests side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from itertools import count
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.explanation import CacheReport, CacheWatch, cache_reports
from newel.explanation.caches import UNCHANGED
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.runners import InMemoryRunner
from newel.tools import FunctionTool
from newel_kernel import LlmRequest as KernelRequest
from newel_kernel import RequestProcessor, hookimpl
from newel_types import Content, GenerateContentResponseUsageMetadata, Part


class Forgetful(BaseLlm):
    """Answers at once, and has read nothing from a cache."""

    model: str = "forgetful"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        usage = GenerateContentResponseUsageMetadata(prompt_token_count=5_000, cached_content_token_count=0)
        yield LlmResponse(content=Content(role="model", parts=[Part(text="Yes.")]), usage_metadata=usage)


class Stamps:
    """A plugin that numbers the instruction."""

    name = "stamps"

    def __init__(self) -> None:
        self._numbers = count()

    @hookimpl
    def register_request_processors(self) -> list[RequestProcessor]:
        def run(ctx: Any, request: KernelRequest) -> None:
            request.append_instruction(f"This is request {next(self._numbers)}.")

        return [RequestProcessor(name="stamp", run=run, after=("contents",))]


def reports(agent: LlmAgent, turns: int = 2, between: Callable[[], None] | None = None, **more: Any) -> CacheReport:
    async def talk() -> CacheReport:
        runner = InMemoryRunner(agent=agent, **more)
        watch = CacheWatch(runner)
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
        for _ in range(turns):
            async for _event in runner.run_async(user_id="u", session_id=session.id, new_message="Well?"):
                pass
            if between is not None:
                between()
        stored = await runner.session_service.get_session(app_name=runner.app_name, user_id="u", session_id=session.id)
        assert stored is not None
        (report,) = cache_reports(stored.events, watch.explanations(session.id))
        return report

    return asyncio.run(talk())


def told(report: CacheReport) -> list[str]:
    return [request.broken_by for request in report.requests]


def test_a_strangers_processor_is_named() -> None:
    agent = LlmAgent(name="a", model=Forgetful(), instruction="Be kind.")
    assert told(reports(agent, 3, plugins=[Stamps()])) == [
        "",
        *["stamp of the plugin stamps: the instruction changed"] * 2,
    ]


def test_an_instruction_that_changes_is_the_agents() -> None:
    numbers = count()
    agent = LlmAgent(name="a", model=Forgetful(), instruction=lambda _: f"It is {next(numbers)} o'clock.")
    assert told(reports(agent)) == ["", "instructions: the instruction changed"]


def test_other_tools_are_named() -> None:
    def look(n: int) -> str:
        """Look."""
        return "x"

    agent = LlmAgent(name="a", model=Forgetful())
    assert told(reports(agent, between=lambda: agent.tools.append(FunctionTool(look)))) == [
        "",
        "the tools of a: the declared tools changed",
    ]


def test_a_callback_that_rewrites_the_first_message_is_named() -> None:
    numbers = count()

    def rewrite(callback_context: Any, llm_request: LlmRequest) -> None:
        llm_request.contents[0].parts = [Part(text=f"number {next(numbers)}")]

    agent = LlmAgent(name="a", model=Forgetful(), before_model_callback=rewrite)
    assert told(reports(agent)) == ["", "a before_model_callback of a: message 1 changed"]


@pytest.mark.parametrize("turns", [2, 5])
def test_requests_that_grow_at_their_end_break_nothing(turns: int) -> None:
    agent = LlmAgent(name="a", model=Forgetful(), instruction="Be kind.")
    assert told(reports(agent, turns)) == ["", *[UNCHANGED] * (turns - 1)]
