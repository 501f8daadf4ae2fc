"""EvalSetResultsManager: where results are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod

from newel.evaluation.eval_result import EvalCaseResult, EvalSetResult
from newel_kernel import seam


def create_eval_set_result(app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]) -> EvalSetResult:
    """The result of a run that ends now."""
    now = seam.clock()
    result_id = f"{app_name}_{eval_set_id}_{now}"
    return EvalSetResult(
        eval_set_result_id=result_id,
        eval_set_result_name=result_id.replace("/", "_"),
        eval_set_id=eval_set_id,
        eval_case_results=eval_case_results,
        creation_timestamp=now,
    )


class EvalSetResultsManager(ABC):
    """Keeps results by app and name."""

    @abstractmethod
    def save_eval_set_result(
        self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]
    ) -> None:  # fmt: skip
        """Store the results of one run over one set."""

    @abstractmethod
    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """A stored result; NotFoundError where there is none."""

    @abstractmethod
    def list_eval_set_results(self, app_name: str) -> list[str]:
        """The names of the stored results, sorted."""
