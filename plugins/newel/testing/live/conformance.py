"""live_conformance: what every live connection does, whichever provider it goes to, with every fault of its service.

for case in live_conformance(MyDialect()):
    case()
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from newel.models.live import LIVE_CONFIG
from newel.testing.live.dialects import Dialect
from newel.testing.live.server import LiveServer
from newel.testing.live.shapes import Shape
from newel_kernel import BaseLlmConnection, LlmRequest, LlmResponse
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

#: A case may take so long, in seconds.
_PATIENCE = 60.0
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
    """What one call of `receive` gives."""
    return [response async for response in connection.receive()]


async def until_lost(connection: BaseLlmConnection) -> tuple[list[LlmResponse], BaseException | None]:
    """What comes until the connection has ended, and the error that it ended with."""
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
    made = (FunctionResponse(id=id_, name="add", response={"sum": value}) for id_, value in values.items())
    return Content(role="user", parts=[Part(function_response=one) for one in made])


def text_turn(*pieces: str) -> list[Shape]:
    """The shapes of a turn of text."""
    told: list[Shape] = [("piece of text", piece) for piece in pieces]
    return [*told, ("usage metadata", True), ("text", "".join(pieces)), ("turn complete", True)]


def sound_turn(*chunks: bytes, said: tuple[str, ...]) -> list[Shape]:
    """The shapes of a turn of sound."""
    told: list[Shape] = [("sound", chunk) for chunk in chunks]
    words: list[Shape] = [("piece of output transcription", piece) for piece in said]
    whole: Shape = ("output transcription", "".join(said))
    return [*told, *words, whole, ("usage metadata", True), ("turn complete", True)]


def sound(data: bytes = CHUNK_IN) -> Blob:
    """A chunk of a microphone."""
    return Blob(data=data, mime_type="audio/pcm;rate=16000")


Run = Callable[[Bench], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """One case for one dialect. Calling it runs it, outside of any event loop; an AssertionError says what is wrong."""

    name: str
    dialect: Dialect
    run: Run

    def __str__(self) -> str:
        return f"{self.dialect.name}-{self.name}"

    def __call__(self) -> None:
        with self.dialect.serving() as server:
            asyncio.run(self._run(Bench(self.dialect, server)))

    async def _run(self, bench: Bench) -> None:
        async with asyncio.timeout(_PATIENCE):
            await self.run(bench)
        refused = [reason for one in bench.server.connections for reason in one.refused]
        assert not refused, f"the service refused: {refused}"
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            _, others = await asyncio.wait(others, timeout=2)
        assert not others, f"tasks are left: {others}"


def live_conformance(dialect: Dialect) -> list[Case]:
    """The cases for a dialect."""
    from newel.testing.live import cases_of_ends, cases_of_faults, cases_of_talk  # noqa: PLC0415 - they are made of what is here

    return [
        Case(name.replace("_", " "), dialect, run)
        for module in (cases_of_talk, cases_of_faults, cases_of_ends)
        for name, run in module.CASES.items()
        if dialect.resumes or name not in module.RESUMING
    ]
