"""AnthropicLlm and Claude: Claude models of Anthropic's API and of Vertex AI."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import ClassVar

from pydantic import PrivateAttr, SecretStr

from newel.models import catalogue
from newel.models.anthropic import client
from newel.models.anthropic.client import Call, Connection, Sdk
from newel.models.anthropic.messages import Messages
from newel.models.anthropic.reading import Reading
from newel.models.anthropic.requests import MOST_UNSTREAMED, Outgoing, outgoing
from newel.models.anthropic.streaming import Assembly
from newel.models.remote import RemoteLlm
from newel.models.wire.clients import Clients
from newel.models.wire.conversions import Conversions
from newel.models.wire.keys import empty_key, given_key
from newel.models.wire.limits import Limits
from newel_kernel import LlmRequest, LlmResponse

Responses = AsyncGenerator[LlmResponse, None]

DEFAULT_MODEL = catalogue.CLAUDE
PATTERNS = (r"claude-.*",)
#: The names of Claude models as resources of Vertex AI.
VERTEX_PATTERN = r"projects/(?P<project>[^/]+)/locations/(?P<region>[^/]+)/publishers/anthropic/models/(?P<model>.+)"
#: The least tokens a second that an answer has; unless streamed, it sends nothing before it is whole.
_TOKENS_PER_SECOND = 35
#: How often an answer may be paused for the service's own tools.
_MOST_PAUSES = 10


class AnthropicLlm(RemoteLlm):
    """A Claude model of Anthropic's API. The key comes from ANTHROPIC_API_KEY and is asked for at the first call."""

    provider: ClassVar[str] = "anthropic"
    provider_name: ClassVar[str] = "anthropic"

    model: str = DEFAULT_MODEL
    #: The most tokens of an answer if the request sets no limit.
    max_tokens: int = 8192
    #: The API's address; by default that of ANTHROPIC_BASE_URL, or Anthropic's.
    base_url: str | None = None
    #: Used instead of the environment's key.
    api_key: SecretStr | None = None

    _clients: Clients[Sdk] = PrivateAttr(default_factory=Clients)
    _conversions: Conversions[Messages] = PrivateAttr(default_factory=Conversions)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Patterns of the names of Claude models."""
        return list(PATTERNS)

    def check(self) -> None:
        """Raise a ModelError if the SDK or the key is missing."""
        client.check(self.model)
        if self._key() is None:
            client.check_key(self.model)

    async def aclose(self) -> None:
        """Close the connections of the running event loop; they also close when the loop ends."""
        await self._clients.aclose()

    async def _answers(self, request: LlmRequest, stream: bool) -> Responses:
        options, limits = request.config.http_options, self.limits_for(request)
        connection = await self._clients.client(lambda: self._connect(limits), limits.response_bytes)
        name = self.model_name(request)
        report = partial(self.say_once, LlmRequest(model=name))  # kept with the history: it must not hold this request
        sent = outgoing(request, name, self.capabilities_for(request), self._conversions, report, self.max_tokens)
        whole = not stream and sent.body["max_tokens"] <= MOST_UNSTREAMED
        if whole and not (options is not None and options.timeout):
            limits = replace(limits, idle=limits.idle + sent.body["max_tokens"] / _TOKENS_PER_SECOND)
        service = replace(connection.service, model=name)
        extra = (options.extra_body if options is not None else None) or {}
        headers = (options.headers if options is not None else None) or {}
        call = Call(connection, service, {**sent.body, **extra}, limits, headers)
        async with aclosing(_answered(call, sent, whole)) as responses:
            async for response in responses:
                if stream or not response.partial:
                    yield response

    def _key(self) -> str | None:
        key = given_key(self.api_key, self.model)
        if key == "":
            raise empty_key(self.model, "ANTHROPIC_API_KEY")
        return key

    def _connect(self, limits: Limits) -> Connection:
        return client.direct(self.model, self._key(), self.base_url, limits, self.provider)


class Claude(AnthropicLlm):
    """A Claude model of Vertex AI, with Google's default credentials."""

    provider_name: ClassVar[str] = "gcp.vertex_ai"

    model: str = DEFAULT_MODEL
    #: Used instead of GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or of those in the model's resource name.
    project: str | None = None
    region: str | None = None
    #: Used instead of the default credentials.
    access_token: SecretStr | None = None

    def check(self) -> None:
        """Raise a ModelError if the SDK is missing."""
        client.check(self.model)

    def model_name(self, request: LlmRequest) -> str:
        """The model's name, without the path of a resource name."""
        name = super().model_name(request)
        match = re.fullmatch(VERTEX_PATTERN, name)
        return match["model"] if match else name

    def _connect(self, limits: Limits) -> Connection:
        match = re.fullmatch(VERTEX_PATTERN, self.model)
        project = self.project or (match["project"] if match else None)
        region = self.region or (match["region"] if match else None)
        token = given_key(self.access_token, self.model, "access_token")
        return client.vertex(self.model, project, region, token, self.base_url, limits)


async def _answered(call: Call, sent: Outgoing, whole: bool) -> Responses:
    """The responses to a request; an answer that is paused for the service's own tools is resumed."""
    reading = Reading(sent, call.service)
    for _ in range(_MOST_PAUSES):
        if whole:
            reading.message(await call.whole())
        else:
            async with aclosing(_streamed(call, reading, sent)) as partials:
                async for partial in partials:
                    yield partial
        if not reading.is_paused:
            break
        call = replace(call, body={**call.body, "messages": sent.resumed(list(reading.answer.parts))})
        reading.resume()
    yield reading.response()


async def _streamed(call: Call, reading: Reading, sent: Outgoing) -> Responses:
    assembly = Assembly(reading, call.service, output=sent.output)
    empty = True
    async with aclosing(call.events()) as events:
        async for event in events:
            empty = False
            partial = assembly.take(event)
            if partial is not None:
                yield partial
    if assembly.is_done:
        return
    raise call.service.malformed("no events") if empty else call.service.cut_short()
