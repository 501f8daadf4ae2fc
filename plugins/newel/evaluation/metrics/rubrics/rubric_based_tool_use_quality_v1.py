"""RubricBasedToolUseV1Evaluator: statements about the use of tools."""

from __future__ import annotations

import json
from typing import ClassVar

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.llm_as_judge_utils import get_tool_calls_and_responses_as_json_str, tool_declarations
from newel.evaluation.metrics.rubrics.rubric_based_evaluator import RubricBasedEvaluator
from newel.evaluation.metrics.scoring import text_of


class RubricBasedToolUseV1Evaluator(RubricBasedEvaluator):
    """`rubric_based_tool_use_quality_v1`."""

    rubric_type: ClassVar[str] = "TOOL_USE_QUALITY"

    def introduction(self) -> str:
        """What the judge is to do."""
        return "You judge how an agent used its tools in one turn of a conversation, not what it answered."

    def texts(self, actual: Invocation) -> list[tuple[str, str]]:
        """Tools, the user's text, calls with responses."""
        return [
            ("Tools of the agent", json.dumps(tool_declarations(actual.app_details), ensure_ascii=False, indent=1)),
            ("The user asked", text_of(actual.user_content)),
            ("Calls of tools with their responses", get_tool_calls_and_responses_as_json_str(actual.intermediate_data)),
        ]
