"""LocalEvalSetResultsManager: results as files beside their agents."""

from __future__ import annotations

import json
from pathlib import Path

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.eval_result import EvalCaseResult, EvalSetResult
from newel.evaluation.eval_set_results_manager import EvalSetResultsManager, create_eval_set_result
from newel.evaluation.eval_sets_manager import check_app
from newel.evaluation.files import read_model, write_whole

SUFFIX = ".evalset_result.json"
#: Below an app's folder.
HISTORY = Path(".adk") / "eval_history"


def read_result(path: Path) -> EvalSetResult:
    """The result in a file."""
    return result_of(path.read_text(encoding="utf-8"), str(path))


def result_of(text: str, where: str) -> EvalSetResult:
    """The result in a text; older writers put the JSON into a JSON string."""
    if text.lstrip().startswith('"'):
        text = json.loads(text)
    return read_model(EvalSetResult, text, where)


class LocalEvalSetResultsManager(EvalSetResultsManager):
    """Results in ``<agents_dir>/<app>/.adk/eval_history/<app>_<set>_<time>.evalset_result.json``."""

    def __init__(self, agents_dir: str | Path) -> None:
        self._folder = Path(agents_dir)

    def save_eval_set_result(
        self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]
    ) -> None:  # fmt: skip
        """Write the file."""
        result = create_eval_set_result(app_name, eval_set_id, eval_case_results)
        path = self.history(app_name) / f"{result.eval_set_result_name}{SUFFIX}"
        write_whole(path, result.model_dump_json(indent=2))

    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """A result by its name."""
        path = self.history(app_name) / f"{eval_set_result_id}{SUFFIX}"
        if Path(eval_set_result_id).name != eval_set_result_id or not path.is_file():
            raise NotFoundError(f"the app {app_name!r} has no eval set result {eval_set_result_id!r}")
        return read_result(path)

    def list_eval_set_results(self, app_name: str) -> list[str]:
        """The names, sorted; none where nothing was stored yet."""
        return sorted(path.name.removesuffix(SUFFIX) for path in self.history(app_name).glob(f"*{SUFFIX}"))

    def history(self, app_name: str) -> Path:
        """The folder of an app's results."""
        check_app(app_name)
        return self._folder / app_name / HISTORY
