"""Helpers for judges' prompts and answers, by the released name."""

from newel.evaluation.judges.llm_as_judge_utils import (
    Label,
    get_average_rubric_score,
    get_eval_status,
    get_text_from_content,
    get_tool_calls_and_responses_as_json_str,
    get_tool_declarations_as_json_str,
    score_of,
)

__all__ = [
    "Label",
    "get_average_rubric_score",
    "get_eval_status",
    "get_text_from_content",
    "get_tool_calls_and_responses_as_json_str",
    "get_tool_declarations_as_json_str",
    "score_of",
]
