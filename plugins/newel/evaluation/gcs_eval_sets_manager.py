"""GcsEvalSetsManager, by the released name."""

from newel.evaluation.cloud.gcs_eval_sets_manager import GcsEvalSetsManager

__all__ = ["GcsEvalSetsManager"]
