"""Bench: a live service of one dialect, connections to it, and what its cases say and expect."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from newel.models import BaseLlmConnection
from newel.models.live import LIVE_CONFIG
from newel_kernel import LlmRequest, LlmResponse
from newel_testkit.live.dialects import Dialect
from newel_testkit.live.server import LiveServer
from newel_testkit.live.shapes import Shape
from newel_types import (
    AudioTranscriptionConfig,
    Blob,
    Content,
    FunctionDeclaration,
    FunctionResponse,
    GenerateContentConfig,
    LiveConnectConfig,
    Part,
    Tool,
)

#: 20 ms of sound, as a microphone gives it and as a model does.
CHUNK_IN = b"\1\0" * 320
CHUNK_OUT = b"\2\0" * 480


class Bench:
    """A service of a dialect, and connections to it."""

    def __init__(self, dialect: Dialect, server: LiveServer) -> None:
        self.dialect = dialect
        self.server = server

    def request(self, modality: str = "TEXT", **live: Any) -> LlmRequest:
        """A request for a live connection, with a tool ``add``."""
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
        declared = Tool(function_declarations=[FunctionDeclaration(name="add", parameters_json_schema=schema)])
        config = GenerateContentConfig(system_instruction="Be brief.", tools=[declared])
        request = LlmRequest(contents=[], config=config)
        words = AudioTranscriptionConfig()
        fields = {"input_audio_transcription": words, "output_audio_transcription": words, **live}
        request.stash[LIVE_CONFIG] = LiveConnectConfig.model_validate({"response_modalities": [modality], **fields})
        return request

    @asynccontextmanager
    async def connected(
        self, *steps: Any, modality: str = "TEXT", options: dict[str, Any] | None = None, **live: Any
    ) -> AsyncIterator[BaseLlmConnection]:
        """A connection whose service follows `steps`, which may be lists of steps."""
        flat = [step for one in steps for step in (one if isinstance(one, list) else [one])]
        self.server.connection(*flat)
        model = self.dialect.model(self.server, **(options or {}))
        async with model.connect(self.request(modality, **live)) as connection:
            yield connection


async def turn(connection: BaseLlmConnection) -> list[LlmResponse]:
    """The responses of one call of `receive`."""
    return [response async for response in connection.receive()]


async def until_lost(connection: BaseLlmConnection) -> tuple[list[LlmResponse], BaseException | None]:
    """The responses until the connection has ended, and the error that it ended with."""
    responses: list[LlmResponse] = []
    while True:
        before = len(responses)
        try:
            async for response in connection.receive():
                responses.append(response)
        except ConnectionError as error:
            return responses, error
        if len(responses) == before:
            return responses, None


def user(text: str) -> Content:
    """A turn of the user."""
    return Content(role="user", parts=[Part(text=text)])


def results(**values: int) -> Content:
    """The results of calls of ``add``, by their ids."""
    responses = (FunctionResponse(id=id_, name="add", response={"sum": value}) for id_, value in values.items())
    return Content(role="user", parts=[Part(function_response=one) for one in responses])


def text_turn(*pieces: str) -> list[Shape]:
    """The shapes of a turn of text."""
    shapes: list[Shape] = [("piece of text", piece) for piece in pieces]
    return [*shapes, ("usage metadata", True), ("text", "".join(pieces)), ("turn complete", True)]


def sound_turn(*chunks: bytes, transcript: tuple[str, ...]) -> list[Shape]:
    """The shapes of a turn of sound."""
    shapes: list[Shape] = [("sound", chunk) for chunk in chunks]
    words: list[Shape] = [("piece of output transcription", piece) for piece in transcript]
    whole: Shape = ("output transcription", "".join(transcript))
    return [*shapes, *words, whole, ("usage metadata", True), ("turn complete", True)]


def sound(data: bytes = CHUNK_IN) -> Blob:
    """A chunk of sound from a microphone."""
    return Blob(data=data, mime_type="audio/pcm;rate=16000")


Run = Callable[[Bench], Awaitable[None]]
