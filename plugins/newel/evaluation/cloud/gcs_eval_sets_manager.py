"""GcsEvalSetsManager: eval sets in a bucket of Google Cloud Storage."""

from __future__ import annotations

from typing import Any

from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.cloud.bucket import Bucket
from newel.evaluation.storage.eval_sets_manager import EvalSetsManager, check_app, check_id
from newel.evaluation.storage.files import read_model
from newel.evaluation.storage.local_eval_sets_manager import SUFFIX, dump_eval_set


class GcsEvalSetsManager(EvalSetsManager):
    """Eval sets in ``gs://<bucket>/<app>/evals/eval_sets/<eval_set_id>.evalset.json``.

    `options` are `credentials` and `project`. ValueError if the bucket does not exist.
    """

    def __init__(self, bucket_name: str, **options: Any) -> None:
        self.bucket_name = bucket_name
        self._bucket = Bucket(bucket_name, **options)

    def get_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet | None:
        """The set, or None."""
        name = _name(app_name, eval_set_id)
        text = self._bucket.read(name)
        return read_model(EvalSet, text, f"gs://{self.bucket_name}/{name}") if text is not None else None

    def list_eval_sets(self, app_name: str) -> list[str]:
        """The ids, sorted."""
        names = self._bucket.names(_folder(app_name))
        return sorted(name.rpartition("/")[2].removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))

    def store(self, app_name: str, eval_set: EvalSet) -> None:
        """Write the object."""
        self._bucket.write(_name(app_name, eval_set.eval_set_id), dump_eval_set(eval_set))


def _folder(app_name: str) -> str:
    check_app(app_name)
    return f"{app_name}/evals/eval_sets/"


def _name(app_name: str, eval_set_id: str) -> str:
    check_id(eval_set_id)
    return f"{_folder(app_name)}{eval_set_id}{SUFFIX}"
