"""GcsEvalSetResultsManager: results in a bucket of Google Cloud Storage."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.cloud.bucket import Bucket
from newel.evaluation.results.eval_result import EvalCaseResult, EvalSetResult
from newel.evaluation.storage.eval_set_results_manager import (
    EvalSetResultsManager,
    PendingResults,
    create_eval_set_result,
)
from newel.evaluation.storage.eval_sets_manager import check_app
from newel.evaluation.storage.local_eval_set_results_manager import (
    SUFFIX,
    Spool,
    result_bytes,
    result_of,
    result_pieces,
)


class GcsEvalSetResultsManager(EvalSetResultsManager):
    """Results in ``gs://<bucket>/<app>/evals/eval_history/<app>_<set>_<time>.evalset_result.json``.

    `options` are `credentials` and `project`. ValueError if the bucket does not exist.
    """

    def __init__(self, bucket_name: str, **options: Any) -> None:
        self.bucket_name = bucket_name
        self._bucket = Bucket(bucket_name, **options)

    def save_eval_set_result(self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]) -> None:
        """Write the object."""
        self._write(app_name, eval_set_id, (result_bytes(one) for one in eval_case_results))

    def pending(self, app_name: str, eval_set_id: str) -> PendingResults:
        """Results that wait in an unnamed file, in the machine's temporary folder."""
        check_app(app_name)
        return Spool(Path(gettempdir()), partial(self._write, app_name, eval_set_id))

    def _write(self, app_name: str, eval_set_id: str, rows: Iterable[bytes]) -> None:
        result = create_eval_set_result(app_name, eval_set_id, [])
        with TemporaryFile() as whole:
            whole.writelines(result_pieces(result, rows))
            self._bucket.write(_name(app_name, str(result.eval_set_result_name)), whole)

    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """A result by its name."""
        name = _name(app_name, eval_set_result_id)
        text = self._bucket.read(name) if "/" not in eval_set_result_id else None
        if text is None:
            raise NotFoundError(f"the app {app_name!r} has no eval set result {eval_set_result_id!r}")
        return result_of(text, f"gs://{self.bucket_name}/{name}")

    def list_eval_set_results(self, app_name: str) -> list[str]:
        """The names, sorted; none if nothing was stored yet."""
        names = self._bucket.names(_folder(app_name))
        return sorted(name.rpartition("/")[2].removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


def _folder(app_name: str) -> str:
    check_app(app_name)
    return f"{app_name}/evals/eval_history/"


def _name(app_name: str, result_id: str) -> str:
    return f"{_folder(app_name)}{result_id}{SUFFIX}"
