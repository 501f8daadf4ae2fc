"""Dialects: the same script for services of different providers."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar
from unittest import mock

from newel.models import BaseLlm
from newel.models.google.gemini import Gemini
from newel.models.openai import OpenAILlm
from newel_kernel import Json
from newel_testkit.live import gemini_messages, openai_messages
from newel_testkit.live.connection import ScriptStep
from newel_testkit.live.gemini import GeminiLiveServer
from newel_testkit.live.openai import OpenAIRealtimeServer
from newel_testkit.live.server import LiveServer
from newel_testkit.live.steps import Wait

#: A call: name, arguments, id.
Call = tuple[str, Json, str]


class Dialect(ABC):
    """A provider: its local service, a model that reaches it, and how its service says things."""

    name: ClassVar[str]
    #: Whether its service gives handles to resume with, and says that it goes away.
    resumes: ClassVar[bool]
    #: The API key that the model uses.
    key: str = "test-key-0123456789"

    @abstractmethod
    def server(self) -> LiveServer:
        """A service, not yet running."""

    @abstractmethod
    def model(self, server: LiveServer, **options: Any) -> BaseLlm:
        """A model of the provider."""

    @abstractmethod
    def variables(self, server: LiveServer) -> dict[str, str]:
        """The variables of the environment by which the SDK finds the service."""

    @contextmanager
    def serving(self) -> Iterator[LiveServer]:
        """A running service; meanwhile the environment leads the SDK to it."""
        server = self.server()
        with server, mock.patch.dict(os.environ, {"NO_PROXY": "127.0.0.1", **self.variables(server)}):
            yield server

    @abstractmethod
    def question(self) -> list[ScriptStep]:
        """Wait for a turn of the user."""

    @abstractmethod
    def listened(self, chunks: int) -> list[ScriptStep]:
        """Wait for so many chunks of sound."""

    @abstractmethod
    def answered(self) -> list[ScriptStep]:
        """Wait for the results of one response's calls."""

    @abstractmethod
    def speech(self, *pieces: str) -> list[Json]:
        """What the user was understood to say."""

    @abstractmethod
    def text(self, *pieces: str) -> list[Json]:
        """A turn of text, and how many tokens it took."""

    @abstractmethod
    def sound(self, *chunks: bytes, transcript: Sequence[str] = ()) -> list[Json]:
        """A turn of sound, then what it says, in pieces."""

    @abstractmethod
    def calls(self, *calls: Call) -> list[Json]:
        """A turn of calls."""

    @abstractmethod
    def interruption(self, *chunks: bytes, transcript: str) -> list[Json]:
        """A turn of sound that the user interrupts."""

    @abstractmethod
    def unknown(self) -> Json:
        """A message of an unknown kind."""

    @abstractmethod
    def error(self, message: str) -> Json:
        """An error of the service, with the code ``own_error``."""


class GeminiDialect(Dialect):
    """Gemini Live."""

    name = "gemini"
    resumes = True

    def server(self) -> LiveServer:
        """See `Dialect`."""
        return GeminiLiveServer(api_key=self.key)

    def model(self, server: LiveServer, **options: Any) -> BaseLlm:
        """See `Dialect`."""
        model: BaseLlm = Gemini(model="gemini-live-2.5-flash", **options)
        return model

    def variables(self, server: LiveServer) -> dict[str, str]:
        """See `Dialect`."""
        assert isinstance(server, GeminiLiveServer)
        switches = dict.fromkeys(("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"), "0")
        where = {"GOOGLE_GEMINI_BASE_URL": server.url, "SSL_CERT_FILE": server.ca_file}
        return {**switches, **where, "GOOGLE_API_KEY": self.key}

    def question(self) -> list[ScriptStep]:
        """See `Dialect`."""
        return [Wait("clientContent")]

    def listened(self, chunks: int) -> list[ScriptStep]:
        """See `Dialect`."""
        return [Wait("realtimeInput", chunks)]

    def answered(self) -> list[ScriptStep]:
        """See `Dialect`."""
        return [Wait("toolResponse")]

    def speech(self, *pieces: str) -> list[Json]:
        """See `Dialect`."""
        messages = [gemini_messages.input_text(piece) for piece in pieces[:-1]]
        return [*messages, gemini_messages.input_text(pieces[-1], finished=True)]

    def text(self, *pieces: str) -> list[Json]:
        """See `Dialect`."""
        return [*map(gemini_messages.text, pieces), gemini_messages.generation_complete(), _gemini_end()]

    def sound(self, *chunks: bytes, transcript: Sequence[str] = ()) -> list[Json]:
        """See `Dialect`."""
        messages = [*map(gemini_messages.audio, chunks), *map(gemini_messages.output_text, transcript)]
        return [*messages, gemini_messages.generation_complete(), _gemini_end()]

    def calls(self, *calls: Call) -> list[Json]:
        """See `Dialect`."""
        return [gemini_messages.tool_call(*calls), _gemini_end()]

    def interruption(self, *chunks: bytes, transcript: str) -> list[Json]:
        """See `Dialect`."""
        messages = [*map(gemini_messages.audio, chunks), gemini_messages.output_text(transcript)]
        return [*messages, gemini_messages.interrupted(), _gemini_end()]

    def unknown(self) -> Json:
        """See `Dialect`."""
        return {"brandNew": {"x": 1}}

    def error(self, message: str) -> Json:
        """See `Dialect`."""
        return {"error": {"code": "own_error", "message": message}}


class OpenAIDialect(Dialect):
    """OpenAI Realtime."""

    name = "openai"
    resumes = False

    def server(self) -> LiveServer:
        """See `Dialect`."""
        return OpenAIRealtimeServer(api_key=self.key)

    def model(self, server: LiveServer, **options: Any) -> BaseLlm:
        """See `Dialect`."""
        model: BaseLlm = OpenAILlm(model="gpt-realtime", **options)
        return model

    def variables(self, server: LiveServer) -> dict[str, str]:
        """See `Dialect`."""
        assert isinstance(server, OpenAIRealtimeServer)
        return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": self.key}

    def question(self) -> list[ScriptStep]:
        """See `Dialect`."""
        return [Wait("response.create")]

    def listened(self, chunks: int) -> list[ScriptStep]:
        """See `Dialect`."""
        return [Wait("input_audio_buffer.append", chunks)]

    def answered(self) -> list[ScriptStep]:
        """See `Dialect`."""
        return [Wait("response.create")]

    def speech(self, *pieces: str) -> list[Json]:
        """See `Dialect`."""
        return openai_messages.input_text(*pieces)

    def text(self, *pieces: str) -> list[Json]:
        """See `Dialect`."""
        return openai_messages.say(*pieces)

    def sound(self, *chunks: bytes, transcript: Sequence[str] = ()) -> list[Json]:
        """See `Dialect`."""
        return openai_messages.speak(*chunks, transcript="".join(transcript))

    def calls(self, *calls: Call) -> list[Json]:
        """See `Dialect`."""
        return openai_messages.calls(*((name, json.dumps(args), id_) for name, args, id_ in calls))

    def interruption(self, *chunks: bytes, transcript: str) -> list[Json]:
        """See `Dialect`."""
        whole = openai_messages.speak(*chunks, transcript=transcript)
        last = next(i for i, one in enumerate(whole) if one["type"] == "response.output_audio.done")
        return [*whole[:last], openai_messages.speech_started(), openai_messages.cancelled()]

    def unknown(self) -> Json:
        """See `Dialect`."""
        return {"type": "brand.new", "x": 1}

    def error(self, message: str) -> Json:
        """See `Dialect`."""
        return openai_messages.error(message, "own_error")


def _gemini_end() -> Json:
    return {**gemini_messages.turn_complete(), **gemini_messages.usage()}
