"""The contract of a model: BaseLlm, its capabilities, and the live connection that some models offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from newel_kernel._internal.contracts.request import LlmRequest
from newel_kernel._internal.contracts.response import LlmResponse
from newel_kernel._internal.errors import FeatureUnavailableError
from newel_types import Content


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What a model can do; asked of the model, never guessed from its name."""

    #: An answer in a JSON schema; the same in a request with function tools.
    output_schema: bool = True
    output_schema_with_tools: bool = False
    #: Several tool calls in one answer; a request that the model must call a tool.
    parallel_tools: bool = True
    forced_tools: bool = True
    #: Media in messages and in tool results: ``image``, ``pdf``, ``audio``, ``video``.
    media: frozenset[str] = frozenset({"image", "pdf"})
    result_media: frozenset[str] = frozenset({"image", "pdf"})
    #: How thinking is configured: ``budget``, ``effort`` (``xhigh`` too), ``adaptive`` (as much as the model holds
    #: right), ``off``; ``display``: thoughts are shown only if that is asked for. Empty: not at all.
    thinking: frozenset[str] = frozenset()
    #: Sampling settings that have an effect: ``temperature``, ``top_p``, ``top_k``; ``either``: one of the first two.
    sampling: frozenset[str] = frozenset({"temperature", "top_p"})
    #: System messages; requests whose start the service can cache.
    system: bool = True
    caching: bool = False
    #: Tool calls come back with the signature that they came with.
    signed_calls: bool = False
    #: Runs code itself (the built-in code execution tool).
    code_execution: bool = False
    #: Keeps the conversation itself (the Interactions API).
    interactions: bool = False
    #: Offers a bidirectional live connection.
    live: bool = False


class BaseLlm(BaseModel, ABC):
    """A model. Subclass it, implement `generate_content_async`, and pass an instance as an agent's `model`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    #: The model's name, as its provider knows it.
    model: str

    capabilities: ClassVar[ModelCapabilities] = ModelCapabilities()
    #: Who serves it, in the words of OpenTelemetry's `gen_ai.provider.name`; empty: traces name its class.
    provider_name: ClassVar[str] = ""
    #: Whether calls go through a network: then policies may stand around them.
    networked: ClassVar[bool] = False

    @classmethod
    def supported_models(cls) -> list[str]:
        """Regular expressions of the model names this class serves, for `LLMRegistry`."""
        return []

    @abstractmethod
    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the answer to `llm_request`.

        With `stream` false: one response. With `stream` true: chunks with `partial=True`, then one whole
        response. A failure is an exception or a response with an `error_code`.
        """

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """Open a live connection; an async context manager that gives a `BaseLlmConnection`."""
        raise FeatureUnavailableError(f"the model {self.model!r} ({type(self).__name__}) offers no live connection")


class BaseLlmConnection(ABC):
    """A bidirectional connection to a model."""

    @abstractmethod
    async def send_history(self, history: list[Content]) -> None:
        """Send the conversation so far; the model answers if the last content is the user's."""

    @abstractmethod
    async def send_content(self, content: Content) -> None:
        """Send a user content or tool results."""

    @abstractmethod
    async def send_realtime(self, blob: Any) -> None:
        """Send a chunk of audio or video (a Blob), or an activity signal."""

    @abstractmethod
    def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """Yield what the model sends until the connection closes."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connection."""
