"""Planted bugs of processors: each appends a sentence to the instruction, and does one thing wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

from tests.plugins.testing.planted import Bugs

from newel_kernel import (
    BaseAgent,
    Event,
    InvocationContext,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    hookimpl,
)
from newel_types import Content, Part

BUGS, OF_RESPONSES = Bugs(), Bugs()


class Right:
    """A plugin with a right processor."""

    name: ClassVar[str] = "planted"

    @hookimpl
    def register_request_processors(self) -> Sequence[RequestProcessor]:
        return [RequestProcessor(name="planted", run=self.run, applies_to=self.applies_to, after=("contents",))]

    def applies_to(self, agent: BaseAgent) -> bool:
        return True

    async def run(self, ctx: InvocationContext, request: LlmRequest) -> Any:
        await asyncio.sleep(0)
        request.append_instructions(["Be brief."])


@BUGS.caught_by("no_foreign_part_is_changed")
class ReplacesTheInstruction(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        request.config.system_instruction = "Be brief."


@BUGS.caught_by("no_foreign_part_is_changed")
class ResetsTheSettings(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        request.append_instructions(["Be brief."])
        request.config = request.config.model_copy(update={"temperature": 0.0, "stop_sequences": None})


@BUGS.caught_by("no_foreign_part_is_changed")
class DropsCallsOfTools(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        request.contents = [c for c in request.contents if not any(part.function_call for part in c.parts or ())]


@BUGS.caught_by("no_foreign_part_is_changed")
class RewritesTheQuestion(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        request.contents = [*request.contents[:-1], Content(role="user", parts=[Part(text="(shortened)")])]


@BUGS.caught_by("no_foreign_part_is_changed")
class RemovesTools(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        request.model = "another-model"


@BUGS.caught_by("odd_contents_are_no_error")
class ExpectsText(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        if request.contents[-1].parts[-1].text is None:  # type: ignore[index]
            raise TypeError("no text")
        request.append_instructions(["Be brief."])


@BUGS.caught_by("the_session_is_not_changed")
class CountsInTheState(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        ctx.session.state["seen"] = ctx.session.state.get("seen", 0) + 1


@BUGS.caught_by("the_session_is_not_changed")
class MarksTheAgent(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        ctx.agent.description += "."


@BUGS.caught_by("the_same_request_becomes_the_same")
class CountsItsRequests(Right):
    asked = 0

    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        self.asked += 1
        request.append_instructions([f"This is request {self.asked}."])


@BUGS.caught_by("requests_at_once_are_apart")
class KeepsTheRequest(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        self.text = str(request.contents[-1]) if request.contents else ""
        await asyncio.sleep(0)
        request.append_instructions([f"The last words were {self.text}."])


@BUGS.caught_by("it_returns_events_or_nothing")
class ReturnsTheRequest(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> Any:
        class Events(list[Any]):
            """Empty for the run, which would refuse it."""

            def __bool__(self) -> bool:
                return False

        return Events([request])


@BUGS.caught_by("it_returns_events_or_nothing")
class ReturnsAnEventOfNoInvocation(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> Any:
        return [Event(author="planted", content=Content(role="model", parts=[Part(text="x")]))]


@BUGS.caught_by("a_cancellation_passes")
class SwallowsCancellations(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        request.append_instructions(["Be brief."])


@BUGS.caught_by("a_cancellation_passes")
class ChangesTheSessionWhenCancelled(Right):
    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            ctx.session.state["cancelled"] = True
            raise


@BUGS.caught_by("agents_are_told_apart_by_their_fields")
class ExpectsToolsOfAnAgent(Right):
    def applies_to(self, agent: Any) -> bool:
        return bool(agent.tools[0])


class RightForResponses:
    """A plugin with a right processor of responses: it marks them."""

    @hookimpl
    def register_response_processors(self) -> Sequence[ResponseProcessor]:
        return [ResponseProcessor(name="planted", run=self.run, after=("planning?",))]

    async def run(self, ctx: InvocationContext, request: LlmRequest, response: LlmResponse) -> None:
        await asyncio.sleep(0)
        response.custom_metadata = {**(response.custom_metadata or {}), "seen": True}


@OF_RESPONSES.caught_by("no_foreign_part_is_changed")
class LosesTheText(RightForResponses):
    async def run(self, ctx: InvocationContext, request: LlmRequest, response: LlmResponse) -> None:
        if response.content is not None:
            response.content = Content(role="model", parts=[Part(text="(removed)")])


@OF_RESPONSES.caught_by("odd_contents_are_no_error")
class ExpectsAContent(RightForResponses):
    async def run(self, ctx: InvocationContext, request: LlmRequest, response: LlmResponse) -> None:
        assert response.content is not None
        response.content.parts[0].text  # type: ignore[index]  # noqa: B018
