"""FinalResponseMatchV2Evaluator, by the released name."""

from newel.evaluation.metrics.response_quality.final_response_match_v2 import FinalResponseMatchV2Evaluator, _label

__all__ = ["FinalResponseMatchV2Evaluator", "_label"]
