"""AgentEvaluator, by the released name."""

from newel.evaluation.runs.agent_evaluator import (
    ALLOWED_CRITERIA,
    NUM_RUNS,
    RESPONSE_EVALUATION_SCORE_KEY,
    RESPONSE_MATCH_SCORE_KEY,
    SAFETY_V1_KEY,
    TOOL_TRAJECTORY_SCORE_KEY,
    AgentEvaluator,
    load_json,
)

__all__ = [
    "ALLOWED_CRITERIA",
    "NUM_RUNS",
    "RESPONSE_EVALUATION_SCORE_KEY",
    "RESPONSE_MATCH_SCORE_KEY",
    "SAFETY_V1_KEY",
    "TOOL_TRAJECTORY_SCORE_KEY",
    "AgentEvaluator",
    "load_json",
]
