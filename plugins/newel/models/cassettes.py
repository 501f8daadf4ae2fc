"""cassettes: a model's answers, recorded in a file and replayed: ``record:FILE:ADDRESS`` and ``replay:FILE``.

A cassette has a line of JSON for each call: the key of its request and the responses, chunks included, without any
secret of the environment. An answer belongs to its request: another question, instruction or tool has none.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import ClassVar

from pydantic import PrivateAttr

from newel.models.contract import BaseLlm
from newel.models.kinds import Attempt, ModelPolicy, ModelProvider
from newel.models.recorded_requests import key_of, last_text
from newel.models.wire.secrets import mask
from newel_kernel import Json, LlmRequest, LlmResponse, ModelError, hookimpl

Responses = AsyncGenerator[LlmResponse, None]

_RECORD = re.compile(r"record:(?P<file>[^:]+):(?P<address>.+)")
_SECRET = re.compile(r".*(KEY|TOKEN|SECRET|PASSWORD)(_.*)?", re.I)
#: Shorter values are hardly secrets, and masking them would garble texts.
_LEAST = 8
_HALF = re.compile("[\ud800-\udfff]")


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
    """The answers of a cassette by request; those to one request in their order, then from the first again."""

    file: Path
    _calls: dict[str, list[Json]] | None = PrivateAttr(default=None)
    _asked: Counter[str] = PrivateAttr(default_factory=Counter)

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Responses:
        """The answer to the request; a unary call gets only the whole response of a streamed answer."""
        if self._calls is None:
            self._calls = _read(self.file)
        key = key_of(llm_request)
        if not (answers := self._calls.get(key, [])):
            raise ModelError(
                f"the cassette {self.file} has {len(self._calls)} answers, and none to this request, which ends with "
                f"{last_text(llm_request)!r}: another question, instruction or tool needs its own recording; "
                f"record:{self.file}:ADDRESS adds it"
            )
        call = answers[self._asked[key] % len(answers)]
        self._asked[key] += 1
        for one in call["responses"]:
            response = LlmResponse.model_validate(one)
            if stream or not response.partial:
                yield response


class _Recording:
    """The answer of one call, which is written once it has ended."""

    __slots__ = ("address", "attempt", "entries", "file", "key")

    def __init__(self, model: RecordingLlm, attempt: Attempt) -> None:
        self.file = model.file
        self.address = model.address
        self.attempt = attempt
        self.key = key_of(attempt.request)
        self.entries: list[Json] = []


def _begin(attempt: Attempt) -> _Recording | None:
    model = attempt.model
    return _Recording(model, attempt) if isinstance(model, RecordingLlm) else None


def _keep(recording: _Recording, response: LlmResponse) -> LlmResponse:
    recording.entries.append(response.model_dump(mode="json", exclude_none=True))
    return response


def _write(recording: _Recording) -> None:
    attempt = recording.attempt  # its request names the model that answered
    entry = {
        "key": recording.key,
        "model": attempt.request.model,
        "stream": attempt.stream,
        "responses": recording.entries,
    }
    _end_last_line(recording.file)
    with recording.file.open("ab") as lines:
        lines.write(f"{mask(_json(entry), _secrets())}\n".encode())


def _json(entry: Json) -> str:
    text = json.dumps(entry, ensure_ascii=False)
    return text if not _HALF.search(text) else json.dumps(entry)


def _end_last_line(file: Path) -> None:
    """End a last line that has no end; cut it off if a crash cut it short."""
    data = file.read_bytes() if file.exists() else b""
    last = data[data.rfind(b"\n") + 1 :]
    if not last:
        return
    if _entry(last) is None:
        os.truncate(file, len(data) - len(last))
    else:
        with file.open("ab") as lines:
            lines.write(b"\n")


def _secrets() -> list[str]:
    """The values of the environment whose names say that they are secret, as JSON writes them."""
    values = [value for name, value in os.environ.items() if _SECRET.fullmatch(name) and len(value) >= _LEAST]
    return sorted((json.dumps(value)[1:-1] for value in values), key=len, reverse=True)


def _read(file: Path) -> dict[str, list[Json]]:
    """The calls of a cassette by key; a last line that a crash cut short does not count."""
    try:
        *lines, last = file.read_bytes().split(b"\n")  # texts may contain other line ends
    except OSError as error:
        raise ModelError(f"the cassette {file} cannot be read: {error}; record:{file}:ADDRESS makes one") from error
    calls: dict[str, list[Json]] = {}
    for number, line in enumerate((*lines, last), 1):
        if not line.strip() or (number > len(lines) and _entry(line) is None):
            continue
        call = _entry(line)
        if call is None or not isinstance(call.get("responses"), list) or not isinstance(call.get("key"), str):
            raise ModelError(
                f"{file} is not a cassette (line {number} lacks `key` or `responses`); record:{file}:ADDRESS makes one"
            )
        calls.setdefault(call["key"], []).append(call)
    return calls


def _entry(line: bytes) -> Json | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


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
