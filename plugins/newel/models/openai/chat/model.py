"""OpenAILlm: models of OpenAI, and of servers that speak its protocol, through Chat Completions."""

from __future__ import annotations

from contextlib import aclosing

from pydantic import PrivateAttr

from newel.models.contract import ModelCapabilities
from newel.models.openai.chat.cache_marks import mark
from newel.models.openai.chat.messages import Messages
from newel.models.openai.chat.requests import body
from newel.models.openai.chat.stream import Assembly
from newel.models.openai.client import Call, Endpoint
from newel.models.openai.declarations import Declarations
from newel.models.openai.model import OpenAIModel
from newel.models.openai.parameters import output_format
from newel.models.openai.reading import parsed
from newel.models.openai.thinking import Report
from newel.models.remote import Responses
from newel.models.wire.conversions import Conversions
from newel.models.wire.service import Service
from newel_kernel import Json, LlmRequest

_PATH = "/chat/completions"


class OpenAILlm(OpenAIModel):
    """A model behind Chat Completions. The key comes from OPENAI_API_KEY and is asked for at the first call."""

    _conversions: Conversions[Messages] = PrivateAttr(default_factory=Conversions)

    async def _answers(self, request: LlmRequest, stream: bool) -> Responses:
        endpoint = self._endpoint()
        service = self._service(request, endpoint)
        with service.translated():
            call, assembly = self._prepared(request, service, stream)
            if not stream:
                content = await self._sender.whole(endpoint, call)
                yield assembly.complete(parsed(content, service))
                return
            async with aclosing(self._streamed(endpoint, call, assembly)) as responses:
                async for response in responses:
                    yield response

    async def _streamed(self, endpoint: Endpoint, call: Call, assembly: Assembly) -> Responses:
        async with self._sender.streamed(endpoint, call) as events:
            async for event in events:
                partial = assembly.feed(event)
                if partial is not None:
                    yield partial
        rest, whole = assembly.close()
        if rest is not None:
            yield rest
        yield whole

    def _prepared(self, request: LlmRequest, service: Service, stream: bool) -> tuple[Call, Assembly]:
        """The request to send, and the assembly of its answer."""
        profile, capable, report = self.settled_profile, self.capabilities_for(request), self._report(request)
        config = request.config
        tools = Declarations(config, self._tool_names, report, strict=profile.strict_schemas)
        shape = output_format(config, report, strict=profile.strict_schemas)
        payload = body(
            config, service.model, self._messages(request, capable, report), tools, shape, profile, capable, report
        )
        if profile.cache_key:
            mark(payload, request, self.provider)
        if stream:
            payload["stream"] = True
            if profile.stream_usage:
                payload["stream_options"] = {"include_usage": True}
        wrapped = shape is not None and shape.wrapped
        assembly = Assembly(service, profile, self._tool_names, tools, wrapped=wrapped)
        return self._call(_PATH, payload, request, service), assembly

    def _messages(self, request: LlmRequest, capable: ModelCapabilities, report: Report) -> list[Json]:
        profile, resolution = self.settled_profile, request.config.media_resolution

        def make() -> Messages:
            return Messages(self.provider, profile, capable.media, self._tool_names, report, resolution)

        return self._conversions.of(request.contents, make, (capable.media, resolution, request.model)).whole()
