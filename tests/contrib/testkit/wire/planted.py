"""Planted bugs of model providers: a right one, and each does one thing wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, NamedTuple

from newel.models.llm_request import LlmRequest
from newel.models.llm_response import LlmResponse
from newel.models.openai import OpenAILlm
from newel_types import Content, FinishReason

PROTOCOL = "openai"


class Right(OpenAILlm):
    """The base: what goes out passes `sent`, what comes in passes `got`."""

    def sent(self, request: LlmRequest) -> LlmRequest:
        return request

    def got(self, response: LlmResponse) -> LlmResponse | None:
        return response

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        async for response in super().generate_content_async(self.sent(llm_request), stream):
            if (answer := self.got(response)) is not None:
                yield answer


def changed(request: LlmRequest, contents: list[Content] | None = None, **config: Any) -> LlmRequest:
    copy = request.model_copy(update={"contents": list(request.contents) if contents is None else contents})
    copy.config = request.config.model_copy(update=config)
    return copy


class SendsTheFirstTurn(Right):
    def sent(self, request: LlmRequest) -> LlmRequest:
        return changed(request, request.contents[:1])


class LosesTheSystemInstruction(Right):
    def sent(self, request: LlmRequest) -> LlmRequest:
        return changed(request, system_instruction=None)


class LosesResults(Right):
    def sent(self, request: LlmRequest) -> LlmRequest:
        contents = [one for one in request.contents if not any(part.function_response for part in one.parts or ())]
        return changed(request, contents)


class LosesASetting(Right):
    def sent(self, request: LlmRequest) -> LlmRequest:
        return changed(request, seed=None)


class EditsTheCallersRequest(Right):
    def sent(self, request: LlmRequest) -> LlmRequest:
        request.config.labels = {"sent": "yes"}
        return request


class LosesTheUsage(Right):
    def got(self, response: LlmResponse) -> LlmResponse | None:
        response.usage_metadata = None
        return response


class AlwaysStops(Right):
    def got(self, response: LlmResponse) -> LlmResponse | None:
        response.finish_reason = FinishReason.STOP if response.finish_reason else None
        return response


class LosesTheSecondCall(Right):
    def got(self, response: LlmResponse) -> LlmResponse | None:
        if response.content is not None and not response.partial:
            calls = [part for part in response.content.parts or () if part.function_call]
            others = [part for part in response.content.parts or () if not part.function_call]
            response.content = Content(role="model", parts=[*others, *calls[:1]])
        return response


class RenamesCalls(Right):
    def got(self, response: LlmResponse) -> LlmResponse | None:
        for part in (response.content.parts or ()) if response.content else ():
            if part.function_call is not None:
                part.function_call.args = {key: str(value) for key, value in (part.function_call.args or {}).items()}
        return response


class EmptiesChunks(Right):
    def got(self, response: LlmResponse) -> LlmResponse | None:
        if response.partial and response.content is not None:
            response.content = Content(role="model", parts=[])
        return response


class CallsChunksFinal(Right):
    def got(self, response: LlmResponse) -> LlmResponse | None:
        response.partial = None
        return response


class CollectsTheStream(Right):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for response in [one async for one in super().generate_content_async(llm_request, stream)]:
            yield response


class RaisesItsOwnErrors(Right):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        try:
            async for response in super().generate_content_async(llm_request, stream):
                yield response
        except Exception as error:
            raise ConnectionError(str(error)) from error


class GivesHalfAnAnswer(Right):
    """An answer that breaks off is taken for whole."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = None
        try:
            async for response in super().generate_content_async(llm_request, stream):
                last = response
                yield response
        except Exception:
            if last is None:
                raise
            yield last.model_copy(update={"partial": False})


class MixesRequests(Right):
    """What is sent is kept by the model meanwhile."""

    _last: Any = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        type(self)._last = llm_request
        await asyncio.sleep(0)
        async for response in super().generate_content_async(type(self)._last, stream):
            yield response


class Planted(NamedTuple):
    """A faulty provider, and the check that catches it."""

    faulty: type[Right]
    check: str


BUGS = [
    Planted(SendsTheFirstTurn, "request text_turns"),
    Planted(LosesTheSystemInstruction, "request system_text"),
    Planted(LosesResults, "request cycle_one"),
    Planted(LosesASetting, "request params_penalties"),
    Planted(EditsTheCallersRequest, "request text_one"),
    Planted(LosesTheUsage, "answer text whole"),
    Planted(AlwaysStops, "answer max_tokens streamed"),
    Planted(LosesTheSecondCall, "answer parallel whole"),
    Planted(RenamesCalls, "answer numbers whole"),
    Planted(EmptiesChunks, "answer long streamed"),
    Planted(CallsChunksFinal, "answer long streamed"),
    Planted(CollectsTheStream, "connection read as it comes"),
    Planted(RaisesItsOwnErrors, "fault 400 whole"),
    Planted(GivesHalfAnAnswer, "fault stream_cut streamed"),
    Planted(MixesRequests, "connection shared by requests at once"),
]
