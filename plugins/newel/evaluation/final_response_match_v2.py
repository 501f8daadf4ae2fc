"""FinalResponseMatchV2Evaluator, by the released name."""

from newel.evaluation.metrics.response_quality.final_response_match_v2 import FinalResponseMatchV2Evaluator

__all__ = ["FinalResponseMatchV2Evaluator"]
