"""LlmAsJudge, by the released name."""

from newel.evaluation.judges.llm_as_judge import AutoRaterScore, LlmAsJudge

__all__ = ["AutoRaterScore", "LlmAsJudge"]
