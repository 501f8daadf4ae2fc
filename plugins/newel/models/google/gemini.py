"""Gemini: a model of Google's Gemini API or of Vertex AI, through the google-genai SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import ClassVar

from pydantic import PrivateAttr

from newel.models.contract import BaseLlmConnection, ModelCapabilities
from newel.models.google import backend, requests
from newel.models.google.client import SERVICE_ALONE, Connection, connect
from newel.models.google.history import Dialect, History
from newel.models.google.plain_chunks import plain_text
from newel.models.google.request_keys import CACHE_CONFIG
from newel.models.google.sdk import Answer, Json, Sdk
from newel.models.google.streaming import StreamingResponseAggregator
from newel.models.remote import RemoteLlm
from newel.models.wire.clients import Clients
from newel.models.wire.conversions import Conversions
from newel.models.wire.limits import Limits, offline_reason
from newel.models.wire.observers import tell_observers
from newel.models.wire.service import Service
from newel.models.wire.sockets import check_websockets, socket_options
from newel_kernel import LlmRequest, LlmResponse
from newel_types import FinishReason, GenerateContentResponse, SpeechConfig, deferred

Responses = AsyncGenerator[LlmResponse, None]

#: Each loads with the first request that needs it.
_check_interactions = deferred("newel.models.google.interactions.api", "check")
_interactions = deferred("newel.models.google.interactions.api", "responses")
_cached_responses = deferred("newel.models.google.caches", "cached_responses")
_live_target = deferred("newel.models.google.live.connection", "Target")
_live_opened = deferred("newel.models.google.live.connection", "opened")

#: Fields that the SDK adds to a response for itself.
_SDK_FIELDS = {"sdk_http_response", "parsed", "automatic_function_calling_history"}


class Gemini(RemoteLlm):
    """A Gemini model. The key comes from GOOGLE_API_KEY or GEMINI_API_KEY and is asked for at the first call."""

    provider: ClassVar[str] = "gemini"

    model: str = backend.DEFAULT_MODEL
    #: The API's address; by default that of GOOGLE_GEMINI_BASE_URL, or Google's.
    base_url: str | None = None
    #: None: ``v1beta``, on Vertex AI ``v1beta1``.
    api_version: str | None = None
    #: True: Vertex AI, False: the Gemini API; None: as the model's name or GOOGLE_GENAI_USE_VERTEXAI says.
    vertexai: bool | None = None
    #: On Vertex AI: the project and its location; None: as the model's resource name or GOOGLE_CLOUD_PROJECT and
    #: GOOGLE_CLOUD_LOCATION say. With a base URL, the SDK signs in only if the project is set here.
    project: str | None = None
    location: str | None = None
    #: The voice of live connections.
    speech_config: SpeechConfig | None = None
    #: If a live session can be resumed, follow each input with a ping: its answer says which input need not be sent
    #: again. On Vertex AI the service reports that itself.
    confirm_input: bool = True
    #: Use the Interactions API, which keeps the conversation at the service: only what is new is sent.
    use_interactions_api: bool = False

    _clients: Clients[Sdk] = PrivateAttr(default_factory=Clients)
    _live_clients: Clients[Sdk] = PrivateAttr(default_factory=Clients)
    _conversions: Conversions[History] = PrivateAttr(default_factory=Conversions)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Patterns of the names of Gemini models."""
        return list(backend.PATTERNS)

    @property
    def on_vertex(self) -> bool:
        """Whether the model is reached through Vertex AI."""
        return backend.is_vertex(self.model, self.vertexai)

    @property
    def capabilities(self) -> ModelCapabilities:  # type: ignore[override]
        """The table's capabilities; Vertex AI takes a response schema together with tools from Gemini 2 on."""
        return self._on_backend(super().capabilities)

    def capabilities_for(self, request: LlmRequest) -> ModelCapabilities:
        """The capabilities of the model that a request names."""
        return self._on_backend(super().capabilities_for(request))

    def _on_backend(self, capable: ModelCapabilities) -> ModelCapabilities:
        both = capable.output_schema_with_tools or (self.on_vertex and capable.code_execution)
        return replace(capable, output_schema_with_tools=both, interactions=self.use_interactions_api)

    @property
    def provider_name(self) -> str:  # type: ignore[override]
        """The API that serves the model."""
        return "gcp.vertex_ai" if self.on_vertex else "gcp.gemini"

    def check(self) -> None:
        """Raise a ModelError if the SDK or the key is missing."""
        backend.check(self.model, self.on_vertex, self.base_url, self.project)
        if self.use_interactions_api:
            _check_interactions()(self.model)

    async def _answers(self, request: LlmRequest, stream: bool) -> Responses:
        """Closing the generator closes the HTTP response."""
        limits = self.limits_for(request)
        client = await self._clients.client(lambda: self._connect(limits), limits.response_bytes)
        name = self.model_name(request)
        connection = Connection(client.sdk, replace(client.service, model=name))
        with connection.service.translated():
            if self.use_interactions_api:
                answer = _interactions()(connection, request, name, vertex=self.on_vertex, stream=stream)
            elif request.stash.get(CACHE_CONFIG, None) is not None:
                own = request.model_copy(update={"model": name})
                answer = _cached_responses()(
                    connection.sdk, own, lambda prepared: self._sent(connection, prepared, name, stream)
                )
            else:
                answer = self._sent(connection, request, name, stream)
            async with aclosing(answer) as responses:
                async for response in responses:
                    yield response

    def _sent(self, connection: Connection, request: LlmRequest, name: str, stream: bool) -> Responses:
        """The responses to a request, which may refer to a cache."""
        dialect = Dialect.of(self.capabilities_for(request), vertex=self.on_vertex)
        arguments = requests.arguments(request, name, dialect, self._conversions)
        return _streamed(connection, arguments) if stream else _unary(connection, arguments)

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        """See `BaseLlm`."""
        name, limits = self.model_name(llm_request), self.limits_for(llm_request)
        check_websockets(name)
        if reason := offline_reason(backend.host(self.base_url, vertex=self.on_vertex)):
            raise Service(self.provider, name).failed("OFFLINE", reason)
        client = await self._live_clients.client(lambda: self._connect(limits, live=True))
        subject = LlmRequest(model=llm_request.model)
        dialect = Dialect.of(self.capabilities_for(llm_request), vertex=self.on_vertex)
        target = _live_target()(
            replace(client.service, model=name),
            dialect,
            self.speech_config,
            self.frame_bytes,
            self.confirm_input,
            lambda setting, text: self.say_once(subject, setting, text),
        )
        async with _live_opened()(client.sdk.aio.live, target, llm_request) as connection:
            yield connection

    async def aclose(self) -> None:
        """Close the connections of the running event loop; they also close when the loop ends."""
        await self._clients.aclose()
        await self._live_clients.aclose()

    def _connect(self, limits: Limits, *, live: bool = False) -> tuple[Sdk, object, Service]:
        self.check()
        version = self.api_version or ("v1beta1" if self.on_vertex else "v1alpha" if live else "v1beta")
        options: Json = {"api_version": version}
        if self.base_url:
            options["base_url"] = self.base_url
        if self.use_interactions_api:
            options["retry_options"] = SERVICE_ALONE
        key = backend.api_key(self.model)
        service = Service(self.provider, self.model, (key,) if key else ())
        sockets = socket_options(limits, self.frame_bytes) if live else None
        credentials: Json = {"vertexai": False, "api_key": key}
        if self.on_vertex:
            credentials = {"vertexai": True, **backend.account(self.model, self.project, self.location, self.base_url)}
        return connect(service, limits, credentials, options, sockets)


async def _unary(connection: Connection, arguments: Json) -> Responses:
    sdk_answer = await connection.sdk.aio.models.generate_content(**arguments)
    answer = _ours(sdk_answer)
    if answer.candidates is None and answer.prompt_feedback is None and answer.usage_metadata is None:
        raise connection.service.malformed("an object without candidates, feedback or usage")
    tell_observers(response_id=getattr(sdk_answer, "response_id", None))
    response = LlmResponse.create(answer)
    if response.content is None and response.error_code is None:
        raise connection.service.malformed("a candidate without content and finish reason")
    yield _explained(response)


async def _streamed(connection: Connection, arguments: Json) -> Responses:
    """Each chunk as a partial response, then the whole answer."""
    aggregator, last = StreamingResponseAggregator(), None
    async with connection.stream(connection.sdk.aio.models.generate_content_stream, **arguments) as chunks:
        async for chunk in chunks:
            plain = plain_text(chunk)
            yield aggregator.add(_ours(chunk)) if plain is None else aggregator.add_plain(plain, chunk)
            last = chunk
    tell_observers(response_id=getattr(last, "response_id", None))
    if not aggregator.ended:
        raise connection.service.cut_short("the stream ended without a finish reason")
    yield _explained(aggregator.whole())


def _explained(response: LlmResponse) -> LlmResponse:
    """Give a response that is not an answer an error code and a message; the SDK drops the service's own.

    Thoughts alone are not an answer.
    """
    reason, parts = response.finish_reason, response.content.parts or () if response.content is not None else ()
    if response.error_code is None and reason not in (None, FinishReason.STOP) and all(part.thought for part in parts):
        response.error_code = reason.value
    if response.error_code is not None and response.error_message is None:
        what = "the answer is cut" if response.content and response.content.parts else "the model gave no answer"
        response.error_message = f"{what}: the service stopped it ({response.error_code})"
    return response


def _ours(answer: Answer) -> GenerateContentResponse:
    """The SDK's response as ours, without what the SDK added."""
    dumped = answer.model_dump(exclude_none=True, by_alias=True, exclude=_SDK_FIELDS)
    return GenerateContentResponse.model_validate(dumped)
