"""cassettes: a model's answers, recorded in a file and replayed: ``record:FILE:ADDRESS`` and ``replay:FILE``.

A cassette has a line of JSON for each call: the responses, chunks included, without any secret of the environment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import ClassVar

from pydantic import PrivateAttr

from newel.models.contract import BaseLlm, ModelCapabilities
from newel.models.kinds import Attempt, ModelPolicy, ModelProvider
from newel.models.wire.secrets import mask
from newel_kernel import Json, LlmRequest, LlmResponse, ModelError, hookimpl

Responses = AsyncGenerator[LlmResponse, None]

_RECORD = re.compile(r"record:(?P<file>[^:]+):(?P<address>.+)")
_SECRET = re.compile(r".*(KEY|TOKEN|SECRET|PASSWORD)(_.*)?", re.I)
#: Shorter values are hardly secrets, and masking them would garble texts.
_LEAST = 8


class RecordingLlm(BaseLlm):
    """Another model, whose answers are recorded in a cassette."""

    networked: ClassVar[bool] = True

    file: Path
    address: str

    def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Responses:
        """Raise ModelError: only a composition knows the model that is recorded."""
        raise ModelError(
            f"the model {self.model!r} is recorded by an agent's runner only; pass its address to an agent"
        )


class ReplayingLlm(BaseLlm):
    """The answers of a cassette, in their order."""

    capabilities: ClassVar[ModelCapabilities] = ModelCapabilities(output_schema_with_tools=True)

    file: Path
    _calls: list[Json] | None = PrivateAttr(default=None)
    _next: int = PrivateAttr(default=0)

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Responses:
        """The next answer; a unary call gets only the whole response of a streamed answer."""
        if self._calls is None:
            self._calls = _read(self.file)
        if self._next >= len(self._calls):
            raise ModelError(f"the cassette {self.file} has {len(self._calls)} answers, and one more was requested")
        call = self._calls[self._next]
        self._next += 1
        for one in call["responses"]:
            response = LlmResponse.model_validate(one)
            if stream or not response.partial:
                yield response


class _Recording:
    """The answer of one call, which is written once it has ended."""

    __slots__ = ("address", "attempt", "entries", "file")

    def __init__(self, model: RecordingLlm, attempt: Attempt) -> None:
        self.file = model.file
        self.address = model.address
        self.attempt = attempt
        self.entries: list[Json] = []


def _begin(attempt: Attempt) -> _Recording | None:
    model = attempt.model
    return _Recording(model, attempt) if isinstance(model, RecordingLlm) else None


def _keep(recording: _Recording, response: LlmResponse) -> LlmResponse:
    recording.entries.append(response.model_dump(mode="json", exclude_none=True))
    return response


def _write(recording: _Recording) -> None:
    attempt = recording.attempt  # its request names the model that answered
    entry = {"model": attempt.request.model, "stream": attempt.stream, "responses": recording.entries}
    line = json.dumps(entry, ensure_ascii=False)
    with recording.file.open("a", encoding="utf-8") as stream_of_lines:
        stream_of_lines.write(f"{mask(line, _secrets())}\n")


def _secrets() -> list[str]:
    """The values of the environment whose names say that they are secret, as JSON writes them."""
    values = [value for name, value in os.environ.items() if _SECRET.fullmatch(name) and len(value) >= _LEAST]
    return sorted((json.dumps(value)[1:-1] for value in values), key=len, reverse=True)


def _read(file: Path) -> list[Json]:
    try:
        calls = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise ModelError(f"the cassette {file} cannot be read: {error}; record:{file}:ADDRESS makes one") from error
    if not all(isinstance(call, dict) and isinstance(call.get("responses"), list) for call in calls):
        raise ModelError(f"{file} is not a cassette; record:{file}:ADDRESS makes one")
    return calls


def _recording(address: str) -> BaseLlm:
    match = _RECORD.fullmatch(address)
    if match is None:
        raise ModelError(f"the model address {address!r} is wrong: write record:FILE:ADDRESS")
    return RecordingLlm(model=address, file=Path(match["file"]), address=match["address"])


def _replaying(address: str) -> BaseLlm:
    file = Path(address.removeprefix("replay:"))
    _read(file)
    return ReplayingLlm(model=address, file=file)


@hookimpl
def register_model_providers() -> list[ModelProvider]:
    """``record:`` and ``replay:``."""
    return [
        ModelProvider(name="record", create=_recording, description="Keeps a model's answers: record:FILE:MODEL"),
        ModelProvider(name="replay", create=_replaying, description="The answers of a cassette: replay:FILE"),
    ]


@hookimpl
def register_model_call_policies() -> list[ModelPolicy]:
    """The policy `cassettes`, around all others."""
    return [
        ModelPolicy(
            name="cassettes",
            begin=_begin,
            redirect=lambda recording: recording.address,
            response=_keep,
            chunk=_keep,
            end=_write,
            before=("model_errors?", "model_costs?"),
        )
    ]
