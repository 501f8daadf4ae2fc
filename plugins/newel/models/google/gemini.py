"""Gemini: a model of Google's Gemini API or of Vertex AI, through the google-genai SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from importlib import import_module

from pydantic import PrivateAttr

from newel.models.capabilities import capabilities_of
from newel.models.google import backend, requests
from newel.models.google.client import Clients, Connection, Endpoint
from newel.models.google.errors import errors_without
from newel.models.google.request_keys import CACHE_CONFIG
from newel.models.google.sdk import Answer, Json
from newel.models.google.streaming import StreamingResponseAggregator
from newel_kernel import BaseLlm, LlmRequest, LlmResponse, ModelCapabilities
from newel_types import GenerateContentResponse, HttpRetryOptions, SpeechConfig

Responses = AsyncGenerator[LlmResponse, None]

#: Fields that the SDK adds to a response for itself.
_SDK_FIELDS = {"sdk_http_response", "parsed", "automatic_function_calling_history"}


class Gemini(BaseLlm):
    """A Gemini model. The key comes from GOOGLE_API_KEY or GEMINI_API_KEY and is asked for at the first call.

    An error of the service is the SDK's ``APIError``, with the HTTP status in its `code`.
    """

    model: str = backend.DEFAULT_MODEL
    #: Where the API is, if not where GOOGLE_GEMINI_BASE_URL says or at Google.
    base_url: str | None = None
    #: True: Vertex AI, False: the Gemini API; None: as the model's name or GOOGLE_GENAI_USE_VERTEXAI says.
    vertexai: bool | None = None
    #: How failed requests are repeated; None: not at all.
    retry_options: HttpRetryOptions | None = None
    #: The voice of live connections.
    speech_config: SpeechConfig | None = None
    #: Use the Interactions API, which keeps the conversation at the service: only what is new is sent.
    use_interactions_api: bool = False

    _clients: Clients = PrivateAttr(default_factory=Clients)

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
        """Vertex AI takes a response schema together with tools, from Gemini 2 on; the Gemini API does not."""
        recent = (backend.major_version(self.model) or 0) >= 2
        return replace(
            capabilities_of("gemini", self.model),
            output_schema_with_tools=recent and self.on_vertex,
            interactions=self.use_interactions_api,
        )

    @property
    def provider_name(self) -> str:  # type: ignore[override]
        """The API that serves the model."""
        return "gcp.vertex_ai" if self.on_vertex else "gcp.gemini"

    def check(self) -> None:
        """Raise a ModelError where the SDK or the key is missing."""
        backend.check(self.model, self.on_vertex, self.base_url)
        if self.use_interactions_api:
            import_module("newel.models.google.interactions.api").check(self.model)

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Responses:
        """See `BaseLlm`. Closing the generator closes the HTTP response."""
        connection = await self._clients.connection(self._endpoint)
        name = (llm_request.model or self.model).removeprefix("gemini:")
        with errors_without(connection.key):
            if self.use_interactions_api:
                api = import_module("newel.models.google.interactions.api")
                answer = api.responses(connection, llm_request, name, vertex=self.on_vertex, stream=stream)
            elif llm_request.stash.get(CACHE_CONFIG, None) is not None:
                answer = self._cached(connection, llm_request, name, stream)
            else:
                arguments = requests.arguments(llm_request, name, vertex=self.on_vertex)
                if not stream:
                    yield await _whole(connection, arguments)
                    return
                answer = _streamed(connection, arguments)
            async with aclosing(answer) as responses:
                async for response in responses:
                    yield response

    def _cached(self, connection: Connection, request: LlmRequest, name: str, stream: bool) -> Responses:
        """The responses to a request whose start may lie in a cache at the service."""

        async def send(prepared: LlmRequest) -> Responses:
            arguments = requests.arguments(prepared, name, vertex=self.on_vertex)
            if not stream:
                yield await _whole(connection, arguments)
                return
            async with aclosing(_streamed(connection, arguments)) as responses:
                async for response in responses:
                    yield response

        named = request.model_copy(update={"model": name})
        caches = import_module("newel.models.google.caches")  # only who asks for caching pays for it
        return caches.cached_responses(connection.sdk, named, send)  # type: ignore[no-any-return]

    async def aclose(self) -> None:
        """Close the connections of the running event loop; they also close when the loop ends."""
        await self._clients.aclose()

    def _endpoint(self) -> Endpoint:
        self.check()
        retry = self.retry_options.model_dump(exclude_none=True) if self.retry_options is not None else None
        if retry is None and self.use_interactions_api:
            # That part of the SDK tries several times by itself, some releases at least twice; no answer is a 0.
            retry = {"attempts": 1, "http_status_codes": [0]}
        return Endpoint(self.on_vertex, backend.api_key(), self.base_url, retry)


async def _whole(connection: Connection, arguments: Json) -> LlmResponse:
    return LlmResponse.create(_ours(await connection.sdk.aio.models.generate_content(**arguments)))


async def _streamed(connection: Connection, arguments: Json) -> Responses:
    """Each chunk as a partial response, then the whole answer."""
    aggregator = StreamingResponseAggregator()
    async with connection.stream(connection.sdk.aio.models.generate_content_stream, **arguments) as chunks:
        empty = True
        async for chunk in chunks:
            empty = False
            yield aggregator.add(_ours(chunk))
    whole = LlmResponse.create(GenerateContentResponse()) if empty else aggregator.close() or aggregator.failure()
    if whole is not None:
        yield whole


def _ours(answer: Answer) -> GenerateContentResponse:
    """The SDK's response as ours, without what the SDK added."""
    dumped = answer.model_dump(exclude_none=True, by_alias=True, exclude=_SDK_FIELDS)
    return GenerateContentResponse.model_validate(dumped)
