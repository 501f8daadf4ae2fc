"""The run file: everything that a run has finished, line by line, durable before it is reported.

JSON lines: a header; then, in the order in which they finish, each unit's inference, its metrics and its result. A
line that a crash cut short is dropped. At the end the results are folded into ``*.evalset_result.json``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.metrics.evaluator import EvaluationResult, PerInvocationResult
from newel.evaluation.runs.units import Key, UnitResult
from newel.evaluation.service.base_eval_service import InferenceResult
from newel.evaluation.storage.files import json_bytes
from newel_kernel import ConfigurationError

SUFFIX = ".run.jsonl"
VERSION = 1


class RunFileError(ConfigurationError):
    """The run file cannot be written: the run ends, and can be resumed."""


class RunFile:
    """A run file open for writing, and what it held when it was opened."""

    def __init__(self, path: Path, header: dict[str, Any], resume: bool = False) -> None:
        self.path = path
        #: Offset and length of each unit's result; likewise of its inference and metrics.
        self.results: dict[Key, tuple[int, int]] = {}
        self.inferences: dict[Key, tuple[int, int]] = {}
        self.metrics: dict[Key, dict[str, tuple[int, int]]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if resume:
            self.header = self._index()
        else:
            self.header = {"run": VERSION, **header}
        self._file = self._opened(resume)
        if not resume:
            self._append(self.header, durable=True)

    def _opened(self, resume: bool) -> FileIO:
        try:
            # Unbuffered, so that closing never writes; appending, so that nothing is written over.
            return FileIO(self.path, "a" if resume else "x")
        except FileExistsError:
            raise ConfigurationError(f"the run {self.path} already exists; resume it with --resume") from None

    def _index(self) -> dict[str, Any]:
        """Read the file, and cut off what a crash left half-written; return the header."""
        header: dict[str, Any] | None = None
        end = 0
        for offset, length, record in records(self.path):
            end = offset + length
            if header is None:
                header = record
                continue
            self._place(record, (offset, length))
        if header is None or header.get("run") != VERSION:
            raise ConfigurationError(f"{self.path} is not a run file")
        if end < self.path.stat().st_size:
            with self.path.open("r+b") as file:
                file.truncate(end)
        return header

    def _place(self, record: dict[str, Any], where: tuple[int, int]) -> None:
        key = key_of(record)
        if record["kind"] == "result":
            self.results[key] = where
        elif record["kind"] == "inference":
            self.inferences[key] = where
        elif record["kind"] == "metric":
            self.metrics.setdefault(key, {})[record["metric"]] = where

    def inference(self, key: Key) -> InferenceResult | None:
        """The inference of a unit that has no result yet."""
        if key not in self.inferences:
            return None
        return InferenceResult.model_validate(self._record(self.inferences[key])["inference"])

    def metric(self, key: Key, name: str, turns: Sequence[Invocation]) -> EvaluationResult | None:
        """A metric of a unit that has no result yet."""
        where = self.metrics.get(key, {}).get(name)
        if where is None:
            return None
        data = self._record(where)["evaluation"]
        if len(data["per_invocation_results"]) != len(turns):
            return None
        each = [
            PerInvocationResult.model_validate({**one, "actual_invocation": turn})
            for one, turn in zip(data.pop("per_invocation_results"), turns, strict=True)
        ]
        return EvaluationResult.model_validate({**data, "per_invocation_results": each})

    def keep_inference(self, key: Key, inference: InferenceResult) -> None:
        """Note what the agent did."""
        self._append({"kind": "inference", **_keyed(key), "inference": inference.model_dump(mode="json")})

    def keep_metric(self, key: Key, name: str, evaluation: EvaluationResult) -> None:
        """Note a metric; the turns that it is about are stored with the inference."""
        data = evaluation.model_dump(mode="json", exclude={"per_invocation_results"})
        data["per_invocation_results"] = [
            one.model_dump(mode="json", exclude={"actual_invocation", "expected_invocation"})
            for one in evaluation.per_invocation_results
        ]
        self._append({"kind": "metric", **_keyed(key), "metric": name, "evaluation": data})

    def keep_result(self, unit: UnitResult) -> None:
        """Note the result of a unit, and wait until it is on the disk."""
        self.results[unit.key] = self._append(
            {
                "kind": "result",
                **_keyed(unit.key),
                "outcome": unit.outcome,
                "tags": list(unit.tags),
                "labels": unit.labels,
                "accounts": unit.accounts.model_dump(mode="json"),
                "result": unit.result.model_dump(mode="json"),
            },
            durable=True,
        )

    def record(self, key: Key) -> dict[str, Any]:
        """The line of a unit's result."""
        return self._record(self.results[key])

    def _record(self, where: tuple[int, int]) -> dict[str, Any]:
        return record_at(self.path, where)

    def _append(self, record: dict[str, Any], durable: bool = False) -> tuple[int, int]:
        line = json_bytes(record) + b"\n"
        descriptor = self._file.fileno()
        offset = os.fstat(descriptor).st_size
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._file.write(rest) :]
            if durable:
                os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, offset)  # leave no half line
            raise RunFileError(
                f"{self.path} cannot be written: {error.strerror or error}; free some space and continue with --resume"
            ) from error
        return offset, len(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _keyed(key: Key) -> dict[str, Any]:
    return {"set": key[0], "case": key[1], "repeat": key[2]}


def key_of(record: dict[str, Any]) -> Key:
    """The unit that a line is about."""
    return record["set"], record["case"], record["repeat"]


def record_at(path: Path, where: tuple[int, int]) -> dict[str, Any]:
    """The line of a run file at an offset, with its length."""
    with path.open("rb") as file:
        file.seek(where[0])
        record: dict[str, Any] = json.loads(file.read(where[1]))
    return record


def records(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The whole lines of a run file, each with its offset and its length in bytes."""
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
            except ValueError:
                raise ConfigurationError(f"{path}:{number} is damaged; remove the lines from there on") from None
            yield offset, len(line), record
            offset += len(line)
