"""InMemoryEvalSetResultsManager: results of this process."""

from __future__ import annotations

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.results.eval_result import EvalCaseResult, EvalSetResult
from newel.evaluation.storage.eval_set_results_manager import EvalSetResultsManager, create_eval_set_result


class InMemoryEvalSetResultsManager(EvalSetResultsManager):
    """Results that end with the process."""

    def __init__(self) -> None:
        self._results: dict[str, dict[str, EvalSetResult]] = {}

    def save_eval_set_result(self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]) -> None:
        """Keep the results."""
        result = create_eval_set_result(app_name, eval_set_id, eval_case_results)
        self._results.setdefault(app_name, {})[str(result.eval_set_result_name)] = result

    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """A result by its name."""
        results = self._results.get(app_name, {})
        if eval_set_result_id not in results:
            raise NotFoundError(f"the app {app_name!r} has no eval set result {eval_set_result_id!r}")
        return results[eval_set_result_id]

    def list_eval_set_results(self, app_name: str) -> list[str]:
        """The names, sorted."""
        return sorted(self._results.get(app_name, {}))
