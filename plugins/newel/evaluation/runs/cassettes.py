"""Cassettes: answers of models kept in a file, so that a run can be played again without them.

Never on by default: a recording hides how much models vary.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from newel.evaluation.runs.options import CassetteMode
from newel.evaluation.storage.files import plain_bytes, read_bytes
from newel.models.recorded_requests import key_of, last_text
from newel_kernel import ConfigurationError, LlmRequest, LlmResponse

_SECRETS = (
    re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bAIza[A-Za-z0-9_-]{20,}"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    re.compile(r"\bya29\.[A-Za-z0-9_-]{10,}"),
    re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\bAKIA[A-Z0-9]{16}\b"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(r"(?i)\bbearer\s+[A-Za-z0-9._~+/=-]{12,}"),
)
MASK = "[masked]"


class MissingRecordingError(ConfigurationError):
    """A replay needs an answer that was never recorded."""


def masked(text: str) -> str:
    """`text` without what looks like a secret."""
    for pattern in _SECRETS:
        text = pattern.sub(MASK, text)
    return text


class Cassette:
    """Answers by model, request and number of the sample, in an append-only file of JSON lines."""

    def __init__(self, path: Path, mode: CassetteMode) -> None:
        self.path, self.mode = path, mode
        self._answers: dict[str, str] = {}
        if mode != "record" and path.is_file():
            self._read()
        elif mode == "replay":
            raise ConfigurationError(f"there is no cassette {path}; record one with --cassette record")

    def _read(self) -> None:
        *lines, last = read_bytes(self.path).split(b"\n")  # texts may contain other line ends
        for number, line in enumerate(lines, 1):
            try:
                self._take(line)
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigurationError(f"{self.path}:{number}: not a recorded answer: {error}") from None
        if last:
            self._end(last)

    def _take(self, line: bytes) -> None:
        entry = json.loads(line)
        self._answers[entry["key"]] = json.dumps(entry["response"])

    def _end(self, last: bytes) -> None:
        """Take the last line, which has no line end, and end it; or cut it off if a crash cut it short."""
        size = self.path.stat().st_size
        try:
            self._take(last)
        except (ValueError, KeyError, TypeError):
            if self.mode == "auto":
                os.truncate(self.path, size - len(last))
        else:
            if self.mode == "auto":
                with self.path.open("ab") as file:
                    file.write(b"\n")

    def find(self, role: str, model: str, request: LlmRequest, sample: str) -> LlmResponse | None:
        """The recorded answer, or None; in a replay, a missing answer is an error that names the call."""
        if self.mode == "record":
            return None
        answer = self._answers.get(key_of(request, model=model, sample=sample))
        if answer is not None:
            return LlmResponse.model_validate_json(answer)
        if self.mode == "replay":
            raise MissingRecordingError(
                f"{self.path} has no answer of {model!r} ({role}, sample {sample}) to {masked(last_text(request))!r}; "
                f"record it with --cassette auto"
            )
        return None

    def keep(self, role: str, model: str, request: LlmRequest, sample: str, response: LlmResponse) -> None:
        """Append an answer; failures and chunks are not kept."""
        if self.mode == "replay" or response.error_code or response.partial:
            return
        key = key_of(request, model=model, sample=sample)
        if key in self._answers:
            return
        text = masked(plain_bytes(response.model_dump(mode="json", exclude_none=True)).decode())
        self._answers[key] = text
        entry = {"key": key, "role": role, "model": model, "sample": sample, "response": json.loads(text)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(plain_bytes(entry) + b"\n")
