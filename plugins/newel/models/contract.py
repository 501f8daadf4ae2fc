"""The contract of a model: what it can do, how it is asked, and the live connection that some models offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar

import newel_kernel
from newel_kernel import ConfigurationError, FeatureUnavailableError, LlmRequest, LlmResponse
from newel_types import Content


@dataclass(frozen=True, slots=True)
class LiveCapabilities:
    """What a model can do over a live connection. Audio is signed 16-bit PCM, little-endian, mono."""

    #: The sample rates that it takes, in Hz, the best one first; other rates are refused.
    input_rates: tuple[int, ...] = (16000,)
    #: The sample rate of its speech, in Hz.
    output_rate: int = 24000
    #: How it can answer: ``AUDIO``, ``TEXT``. The first is the default.
    modalities: tuple[str, ...] = ("AUDIO", "TEXT")
    #: Takes images while the user speaks (a Blob ``image/jpeg`` or ``image/png``).
    images: bool = True
    #: Can leave it to the client to say when the user speaks (ActivityStart, ActivityEnd).
    manual_activity: bool = True
    #: Takes content that does not yet end the user's turn (`send_partial`).
    partial_content: bool = True
    #: Gives handles with which a session continues over another connection.
    resumption: bool = False


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What a model can do, as the model declares it; never guessed from its name."""

    #: An answer in a JSON schema; the same in a request with function tools.
    output_schema: bool = True
    output_schema_with_tools: bool = False
    #: Several tool calls in one answer; a request that the model must call a tool.
    parallel_tools: bool = True
    forced_tools: bool = True
    #: Media in messages and in tool results: ``image``, ``pdf``, ``audio``, ``video``.
    media: frozenset[str] = frozenset({"image", "pdf"})
    result_media: frozenset[str] = frozenset({"image", "pdf"})
    #: How thinking is configured: ``budget``, ``effort`` (``xhigh`` too), ``adaptive`` (as much as the model sees
    #: fit), ``off``; ``display``: thoughts are shown only on request. Empty: not at all.
    thinking: frozenset[str] = frozenset()
    #: Sampling settings that have an effect: ``temperature``, ``top_p``, ``top_k``; ``either``: one of the first two.
    sampling: frozenset[str] = frozenset({"temperature", "top_p"})
    #: System messages; caching of a request's start by the service.
    system: bool = True
    caching: bool = False
    #: Tool calls must be sent back with the signature that they came with.
    signed_calls: bool = False
    #: Runs code itself (the built-in code execution tool).
    code_execution: bool = False
    #: Searches itself among tools that are declared, but kept out of its prompt.
    tool_search: bool = False
    #: Keeps the conversation itself (the Interactions API).
    interactions: bool = False
    #: What it can do over a bidirectional live connection; None: it offers no such connection.
    live: LiveCapabilities | None = None


class BaseLlm(newel_kernel.BaseLlm):
    """A model. Subclass it, implement `generate_content_async`, and pass an instance as an agent's `model`."""

    capabilities: ClassVar[ModelCapabilities] = ModelCapabilities()
    #: Its provider, as OpenTelemetry's `gen_ai.provider.name` has it; empty: traces name its class.
    provider_name: ClassVar[str] = ""
    #: Whether calls go over a network, so that policies may wrap them.
    networked: ClassVar[bool] = False

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        for name, kind in (("capabilities", ModelCapabilities), ("provider_name", str), ("networked", bool)):
            field = cls.model_fields.get(name)
            if field is not None and field.annotation is not kind:
                found = f"a field of type {field.annotation}"
            elif isinstance(cls.__dict__.get(name), FunctionType):
                found = "a method"
            else:
                continue
            raise ConfigurationError(
                f"the model class {cls.__module__}.{cls.__qualname__} has {found} named {name!r}, which newel reads as "
                f"a {kind.__name__}: give it that type, or rename yours"
            )

    @classmethod
    def supported_models(cls) -> list[str]:
        """Regular expressions of the model names this class serves, for `LLMRegistry`."""
        return []

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """Open a live connection; an async context manager that gives a `BaseLlmConnection`.

        Entering raises ConnectionError if the service cannot be reached or the connection breaks at once: the
        caller may try again. Leaving closes the connection, within 2 s even if the service does not answer.
        """
        raise FeatureUnavailableError(f"the model {self.model!r} offers no live connection: choose another one")


class BaseLlmConnection(ABC):
    """A bidirectional connection to a model. One task sends, another one receives.

    It raises only two errors, also in place of its SDK's: ConnectionError says that the connection was lost (a session
    with a handle continues over another one); ValueError says that an input cannot be sent, and that none
    of it was sent. After the connection's end every method that sends raises ConnectionError.
    """

    #: How many inputs (calls of methods that send) the service is known to have taken, from the connection's first on;
    #: None: the service does not say. After a loss the other inputs are sent again over the next connection.
    inputs_taken: int | None = None

    @abstractmethod
    async def send_history(self, history: list[Content]) -> None:
        """Send the conversation so far, before anything else; the model answers if the last content is the user's.

        Audio is left out: it was transcribed. Not called if the request has a handle to resume with.
        """

    @abstractmethod
    async def send_content(self, content: Content) -> None:
        """Send a turn of the user, which the model answers, or tool results (then all parts are function responses)."""

    async def send_partial(self, content: Content) -> None:
        """Send a part of the user's turn: more follows before the model answers."""
        await self._send_content(content, partial=True)

    async def _send_content(self, content: Content, *, partial: bool = False) -> None:
        """The released name of what a connection with partial turns overrides; by default each content is a turn."""
        await self.send_content(content)

    @abstractmethod
    async def send_realtime(self, blob: Any) -> None:
        """Send live input, without waiting for a turn.

        A Blob of audio (``audio/pcm;rate=16000``) or of an image; ActivityStart and ActivityEnd, where the client says
        when the user speaks; a LiveClientRealtimeInput with `audio_stream_end`, once the microphone is off: the service
        then takes the audio that it still holds as complete. If `inputs_taken` is None, an input counts as taken
        once this has returned, and is not sent again.
        """

    @abstractmethod
    def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """Yield the model's messages, up to the end of a turn or of the connection. Call it again until the latter.

        Returning without a response says that the connection was closed, normally or by `close`. ConnectionError says
        that it was lost (with a `code` of 1000 the service closed it normally: without a handle, that is an end as
        well). A refusal by the service, or a message that cannot be read, is a response with `error_code` and
        `error_message`, after which the connection may continue or end.

        Text comes in pieces with `partial`, then whole, before `turn_complete`, `interrupted` or a call ends it.
        So do `input_transcription` and `output_transcription`: pieces with `partial`, then their sum with `finished`.
        Audio is `inline_data` in pieces, never twice and never `partial`. `go_away`, `live_session_resumption_update`,
        `usage_metadata`, `voice_activity` and `tool_call_cancellation` each come in a separate response. An
        unknown message is left out, and reported once for its kind in a response with `error_code`.
        """

    def rest(self) -> list[LlmResponse]:
        """What was said and spoken so far and not yielded whole, once nobody receives any more; then it is forgotten.

        Called at the end of every connection, also if the session continues over another one. By default nothing.
        """
        return []

    @abstractmethod
    async def close(self) -> None:
        """Close the connection: `receive` returns. Closing again does nothing."""
