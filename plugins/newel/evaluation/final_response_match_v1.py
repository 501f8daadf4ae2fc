"""RougeEvaluator, by the released name."""

from newel.evaluation.metrics.response_match.final_response_match_v1 import RougeEvaluator

__all__ = ["RougeEvaluator"]
