"""RubricBasedFinalResponseQualityV1Evaluator: statements about answers."""

from __future__ import annotations

import json
from typing import ClassVar

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.llm_as_judge_utils import steps_of, tool_declarations
from newel.evaluation.metrics.rubrics.rubric_based_evaluator import RubricBasedEvaluator
from newel.evaluation.metrics.scoring import answer_of, text_of


class RubricBasedFinalResponseQualityV1Evaluator(RubricBasedEvaluator):
    """`rubric_based_final_response_quality_v1`."""

    rubric_type: ClassVar[str] = "FINAL_RESPONSE_QUALITY"

    def introduction(self) -> str:
        """What the judge is to do."""
        return (
            "You judge the final answer of an agent. Its instructions, its tools and its steps are shown so "
            "that you can tell what the answer is based on."
        )

    def texts(self, actual: Invocation) -> list[tuple[str, str]]:
        """Instructions, tools, the user's text, the steps, the answer."""
        return [
            ("Instructions of the agent", _instructions(actual)),
            ("Tools of the agent", json.dumps(tool_declarations(actual.app_details), ensure_ascii=False, indent=1)),
            ("The user asked", text_of(actual.user_content)),
            ("Steps of the agent", steps_of(actual.intermediate_data)),
            ("The final answer", answer_of(actual, self._criterion.include_intermediate_responses_in_final)),
        ]


def _instructions(actual: Invocation) -> str:
    """The instructions of the first event's agent."""
    agents = actual.app_details.agent_details if actual.app_details is not None else {}
    events = getattr(actual.intermediate_data, "invocation_events", None) or ()
    first = next((event.author for event in events if event.author in agents), next(iter(agents), None))
    return agents[first].instructions if first is not None else ""
