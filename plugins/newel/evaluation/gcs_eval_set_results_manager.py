"""GcsEvalSetResultsManager, by the released name."""

from newel.evaluation.cloud.gcs_eval_set_results_manager import GcsEvalSetResultsManager

__all__ = ["GcsEvalSetResultsManager"]
