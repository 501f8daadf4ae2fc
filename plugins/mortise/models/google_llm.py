"""Gemini: the models of Google's Gemini API and of Vertex AI, through the google-genai SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from pydantic import PrivateAttr

from mortise.models import gemini_request, gemini_settings
from mortise.models.google_client import Clients, Connection, Endpoint
from mortise.utils.streaming_utils import StreamingResponseAggregator
from mortise_kernel.contracts.model import BaseLlm, ModelCapabilities
from mortise_kernel.contracts.request import LlmRequest
from mortise_kernel.contracts.response import LlmResponse
from mortise_kernel.errors import FeatureUnavailableError
from mortise_kernel.types.http import HttpRetryOptions
from mortise_kernel.types.response import GenerateContentResponse
from mortise_kernel.types.speech import SpeechConfig

#: What the SDK adds to a response for itself.
_OF_THE_SDK = {"sdk_http_response", "parsed", "automatic_function_calling_history"}


class Gemini(BaseLlm):
    """A Gemini model. The key comes from GOOGLE_API_KEY or GEMINI_API_KEY and is asked for at the first call.

    An error of the service is the SDK's ``APIError``, with the HTTP status in its `code`.
    """

    model: str = gemini_settings.DEFAULT_MODEL
    #: Where the API is, if not where GOOGLE_GEMINI_BASE_URL says or at Google.
    base_url: str | None = None
    #: True: Vertex AI, False: the Gemini API; None: as the model's name or GOOGLE_GENAI_USE_VERTEXAI says.
    vertexai: bool | None = None
    #: How failed requests are repeated; None: not at all.
    retry_options: HttpRetryOptions | None = None
    #: The voice of live connections.
    speech_config: SpeechConfig | None = None
    #: The Interactions API, which keeps the conversation at the service. Not supported: calling the model raises.
    use_interactions_api: bool = False

    _clients: Clients = PrivateAttr(default_factory=Clients)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Patterns of the names of Gemini models."""
        return list(gemini_settings.PATTERNS)

    @property
    def on_vertex(self) -> bool:
        """Whether the model is reached through Vertex AI."""
        return gemini_settings.uses_vertex(self.model, self.vertexai)

    @property
    def capabilities(self) -> ModelCapabilities:  # type: ignore[override]
        """Vertex AI takes a response schema together with tools, from Gemini 2 on; the Gemini API does not."""
        recent = (gemini_settings.major_version(self.model) or 0) >= 2
        return ModelCapabilities(
            output_schema_with_tools=recent and self.on_vertex, code_execution=recent, thinking=True
        )

    def check(self) -> None:
        """Raise a ModelError where the SDK or the key is missing."""
        gemini_settings.check(self.model, self.on_vertex, self.base_url)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """See `BaseLlm`. Closing the generator closes the HTTP response."""
        if self.use_interactions_api:
            raise FeatureUnavailableError(
                f"the model {self.model!r}: use_interactions_api is not supported; without it, "
                "the conversation is sent with each call"
            )
        connection = await self._clients.connection(self._endpoint)
        name = (llm_request.model or self.model).removeprefix("gemini:")
        arguments = gemini_request.arguments(llm_request, name, vertex=self.on_vertex)
        with connection.errors_without_key():
            if not stream:
                yield LlmResponse.create(_ours(await connection.sdk.aio.models.generate_content(**arguments)))
                return
            async with aclosing(_streamed(connection, arguments)) as responses:
                async for response in responses:
                    yield response

    async def aclose(self) -> None:
        """Close the connections of the running event loop; they also close when the loop ends."""
        await self._clients.aclose()

    def _endpoint(self) -> Endpoint:
        self.check()
        retry = self.retry_options.model_dump(exclude_none=True) if self.retry_options is not None else None
        return Endpoint(self.on_vertex, gemini_settings.api_key(), self.base_url, retry)


async def _streamed(connection: Connection, arguments: dict[str, Any]) -> AsyncGenerator[LlmResponse, None]:
    """Each chunk as a partial response, then the whole answer."""
    aggregator = StreamingResponseAggregator()
    async with connection.stream(**arguments) as chunks:
        empty = True
        async for chunk in chunks:
            empty = False
            yield aggregator.add(_ours(chunk))
    whole = LlmResponse.create(GenerateContentResponse()) if empty else aggregator.close() or aggregator.failure()
    if whole is not None:
        yield whole


def _ours(answer: Any) -> GenerateContentResponse:
    """The SDK's response as ours, without what the SDK added."""
    dumped = answer.model_dump(exclude_none=True, by_alias=True, exclude=_OF_THE_SDK)
    return GenerateContentResponse.model_validate(dumped)
