"""RubricBasedMultiTurnTrajectoryEvaluator: statements about a whole conversation."""

from __future__ import annotations

import json
from typing import ClassVar

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.conversation_texts import dialogue
from newel.evaluation.judges.llm_as_judge_utils import tool_declarations
from newel.evaluation.metrics.eval_metrics import EvalMetric
from newel.evaluation.metrics.evaluator import EvaluationResult
from newel.evaluation.metrics.rubrics.rubric_based_evaluator import RubricBasedEvaluator
from newel.evaluation.metrics.scoring import on_last_turn, paired


class RubricBasedMultiTurnTrajectoryEvaluator(RubricBasedEvaluator):
    """`rubric_based_multi_turn_trajectory_quality_v1`: one judgement, on the last turn."""

    rubric_type: ClassVar[str] = "TRAJECTORY_QUALITY"

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric)
        self._dialogue = ""

    def introduction(self) -> str:
        """What the judge is to do."""
        return "You judge a whole conversation between a user and an agent: the path that the agent took to the goal."

    def texts(self, actual: Invocation) -> list[tuple[str, str]]:
        """Tools and the dialogue."""
        return [
            ("Tools of the agent", json.dumps(tool_declarations(actual.app_details), ensure_ascii=False, indent=1)),
            ("The conversation", self._dialogue),
        ]

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Judge the conversation."""
        if not actual_invocations:
            return EvaluationResult()
        pairs = paired(actual_invocations, expected_invocations)
        self._dialogue = dialogue(actual_invocations)
        last = actual_invocations[-1].model_copy(update={"rubrics": _rubrics(actual_invocations)})
        judged = await super().evaluate_invocations([last])
        return on_last_turn(judged, pairs)


def _rubrics(turns: list[Invocation]) -> list[object]:
    """The rubrics of all turns, each once: a case's rubrics are on every turn."""
    by_id = {rubric.rubric_id: rubric for turn in turns for rubric in turn.rubrics or ()}
    return list(by_id.values())
