"""Stored runs: their rows, their inferences, and the result files that google-adk's tools read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from newel.evaluation.results.eval_result import EvalCaseResult, EvalSetResult
from newel.evaluation.runs.accounts import Accounts, count_agent
from newel.evaluation.runs.run_file import RunFile, RunFileError, key_of, records
from newel.evaluation.runs.units import FAILED, PASSED, Key, UnitResult
from newel.evaluation.service.base_eval_service import InferenceResult, InferenceStatus
from newel.evaluation.storage.eval_set_results_manager import result_name
from newel.evaluation.storage.files import plain_bytes, remove_parts
from newel.evaluation.storage.local_eval_set_results_manager import SUFFIX as RESULT_SUFFIX
from newel.evaluation.storage.local_eval_set_results_manager import read_result, write_result
from newel_kernel import ConfigurationError


class StoredInferences:
    """What an agent did in a stored run."""

    def __init__(self, by_key: Mapping[Key, InferenceResult], path: Path) -> None:
        self._by_key, self._path = by_key, path

    def of(self, key: Key) -> InferenceResult:
        """The inference of a unit; a ConfigurationError if the run does not have it."""
        if key not in self._by_key:
            raise ConfigurationError(f"{self._path} has no inference of the case {key[1]!r} (repeat {key[2]})")
        return self._by_key[key]


def stored_inferences(path: Path) -> StoredInferences:
    """The inferences of a run file or a result file."""
    return StoredInferences({unit.key: _inference(unit) for unit in stored_units(path)}, path)


def _inference(unit: UnitResult) -> InferenceResult:
    result = unit.result
    ran = bool(result.eval_metric_result_per_invocation) or result.error_message is None
    return InferenceResult(
        app_name="",
        eval_set_id=result.eval_set_id,
        eval_case_id=result.eval_id,
        inferences=[turn.actual_invocation for turn in result.eval_metric_result_per_invocation] if ran else None,
        session_id=result.session_id,
        status=InferenceStatus.SUCCESS if ran else InferenceStatus.FAILURE,
        error_message=result.error_message,
        user_id=result.user_id,
        session_details=result.session_details,
    )


def stored_units(path: Path) -> Iterator[UnitResult]:
    """The results of a run file (in the order in which they ended) or of a result file."""
    if not path.is_file():
        raise ConfigurationError(f"there is no run {path}")
    if path.name.endswith(RESULT_SUFFIX):
        yield from units_of_results(read_result(path).eval_case_results)
        return
    for _, _, record in records(path):
        if record.get("kind") == "result":
            yield unit_of(record)


def units_of_results(results: Iterable[EvalCaseResult]) -> Iterator[UnitResult]:
    """The units of a run of which only the results are stored; the agent's usage is that of the stored turns."""
    counts: dict[str, int] = {}
    for result in results:
        repeat = result.repeat if result.repeat is not None else counts.get(result.eval_id, 0)
        counts[result.eval_id] = repeat + 1
        outcome = PASSED if result.final_eval_status.name == "PASSED" else FAILED
        unit = UnitResult((result.eval_set_id, result.eval_id, repeat), outcome, result, Accounts())
        count_agent(_inference(unit), unit.accounts)
        yield unit


def unit_of(record: Mapping[str, Any]) -> UnitResult:
    """The unit of a line."""
    return UnitResult(
        key=key_of(dict(record)),
        outcome=record["outcome"],
        result=EvalCaseResult.model_validate(record["result"]),
        accounts=Accounts.model_validate(record["accounts"]),
        tags=tuple(record.get("tags", ())),
        labels=dict(record.get("labels", {})),
    )


def fold(file: RunFile, set_id: str, keys: Sequence[Key], folder: Path, others: Iterable[Path]) -> Path:
    """Write the result file of a set, next to `others`: the results in file order, one by one, to save memory."""
    created = file.header["created"]
    names = [path.name.removesuffix(RESULT_SUFFIX) for path in others]
    name = result_name(file.header["app_name"], set_id, created, names)
    head = EvalSetResult(
        eval_set_result_id=name, eval_set_result_name=name, eval_set_id=set_id, creation_timestamp=created
    )
    path = folder / f"{name}{RESULT_SUFFIX}"
    try:
        remove_parts(path)  # of a run that was killed while it wrote
        write_result(path, head, (plain_bytes(file.record(key)["result"]) for key in keys))
    except ConfigurationError as error:  # all that it would hold is in the run file
        raise RunFileError(str(error)) from error
    return path
