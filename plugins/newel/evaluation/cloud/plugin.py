"""The plugin of Google Cloud: a backend of metrics, eval sets in buckets, and a user who speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.evaluation.kinds import EvalStorage, JudgeBackend
from newel_kernel import ConfigurationError, hookimpl
from newel_types import deferred

if TYPE_CHECKING:
    from newel.evaluation.storage.eval_set_results_manager import EvalSetResultsManager
    from newel.evaluation.storage.eval_sets_manager import EvalSetsManager

_sets = deferred("newel.evaluation.cloud.gcs_eval_sets_manager", "GcsEvalSetsManager")
_results = deferred("newel.evaluation.cloud.gcs_eval_set_results_manager", "GcsEvalSetResultsManager")
_SINGLE = ("safety_v1", "response_evaluation_score")
_WHOLE = ("multi_turn_task_success_v1", "multi_turn_trajectory_quality_v1", "multi_turn_tool_use_quality_v1")


@hookimpl
def register_judge_backends() -> list[JudgeBackend]:
    """The evaluation service of Vertex AI."""
    return [
        JudgeBackend(
            name="vertex",
            load=deferred("newel.evaluation.cloud.vertex", "VertexEvaluator"),
            metrics=(*_SINGLE, *_WHOLE),
            description="The evaluation service of Vertex AI: GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION.",
        )
    ]


@hookimpl
def register_eval_storages() -> list[EvalStorage]:
    """Buckets."""
    return [EvalStorage(name="gs", open=_bucket, description="gs://bucket: Google Cloud Storage.")]


def _bucket(uri: str) -> tuple[EvalSetsManager, EvalSetResultsManager]:
    name = uri.removeprefix("gs://").rstrip("/")
    if not name or "/" in name:
        raise ConfigurationError(f"{uri!r} names no bucket: write gs://BUCKET")
    return _sets()(name), _results()(name)
