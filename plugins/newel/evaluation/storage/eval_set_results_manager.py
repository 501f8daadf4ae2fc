"""EvalSetResultsManager: where results are kept."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from functools import partial

from newel.evaluation.results.eval_result import EvalCaseResult, EvalSetResult
from newel_kernel import seam

_NO_NAME = re.compile(r"[/\x00-\x1f]")
#: The most bytes of app and set in a name: with the time, the ending and a temporary suffix it still fits anywhere.
_LONGEST = 160


def result_name(app_name: str, eval_set_id: str, created: float, taken: Collection[str] = ()) -> str:
    """The name of a result, which is also its file's name: characters that file names cannot hold are replaced."""
    whole = f"{app_name}_{eval_set_id}"
    name, data = _NO_NAME.sub("_", f"{whole}_{created}"), whole.encode(errors="replace")
    if len(data) <= _LONGEST and name not in taken:
        return name
    start, digest = data[:_LONGEST].decode(errors="ignore"), hashlib.sha256(data).hexdigest()[:12]
    return _NO_NAME.sub("_", f"{start}_{digest}_{created}")


def create_eval_set_result(app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]) -> EvalSetResult:
    """The result of a run that ends now."""
    now = seam.clock()
    result_id = f"{app_name}_{eval_set_id}_{now}"
    return EvalSetResult(
        eval_set_result_id=result_id,
        eval_set_result_name=result_name(app_name, eval_set_id, now),
        eval_set_id=eval_set_id,
        eval_case_results=eval_case_results,
        creation_timestamp=now,
    )


class PendingResults:
    """The results of one run over one set while it is running: each is added as it ends, and all are saved at the end.

    This class keeps them in memory. A manager that can write them to disk overrides it, so that a long run needs none.
    """

    def __init__(self, save: Callable[[list[EvalCaseResult]], None]) -> None:
        self._save = save
        self._results: dict[int, EvalCaseResult] = {}

    def add(self, number: int, result: EvalCaseResult) -> None:
        """Add a result; the numbers give the order in which results are saved."""
        self._results[number] = result

    def save(self) -> None:
        """Store what was added."""
        self._save([self._results[number] for number in sorted(self._results)])

    def close(self) -> None:
        """Discard what was added."""
        self._results.clear()


class EvalSetResultsManager(ABC):
    """Keeps results by app and name."""

    def pending(self, app_name: str, eval_set_id: str) -> PendingResults:
        """The collector of a run's results as they end."""
        return PendingResults(partial(self.save_eval_set_result, app_name, eval_set_id))

    @abstractmethod
    def save_eval_set_result(self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]) -> None:
        """Store the results of one run over one set."""

    @abstractmethod
    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """A stored result; NotFoundError if there is none."""

    @abstractmethod
    def list_eval_set_results(self, app_name: str) -> list[str]:
        """The names of the stored results, sorted."""
