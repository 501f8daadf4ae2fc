"""Judgements of whole conversations; the result is on the last turn."""

from __future__ import annotations

from typing import ClassVar

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.conversation_texts import dialogue
from newel.evaluation.judges.verdicts import VerdictEvaluator
from newel.evaluation.metrics.eval_metrics import EvalMetric
from newel.evaluation.metrics.evaluator import EvaluationResult
from newel.evaluation.metrics.scoring import on_last_turn, paired

_YES_NO = {"yes": 1.0, "no": 0.0}


class MultiTurnEvaluator(VerdictEvaluator):
    """Asks one question about the conversation."""

    verdicts: ClassVar[dict[str, float]] = _YES_NO

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric)
        self._texts: list[tuple[str, str]] = []

    def texts(self, actual: Invocation, expected: Invocation | None) -> list[tuple[str, str]]:
        """The plan, if a simulated user has one, and the dialogue."""
        return self._texts

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
        self._texts = [("The conversation", dialogue(actual_invocations))]
        if conversation_scenario is not None:
            self._texts.insert(0, ("What the user wants", conversation_scenario.conversation_plan))
        if expected_invocations:
            self._texts.append(("The expected conversation", dialogue(expected_invocations)))
        last = expected_invocations[-1:] if expected_invocations is not None else None
        judged = await super().evaluate_invocations(actual_invocations[-1:], last)
        return on_last_turn(judged, pairs)


class MultiTurnTaskSuccessV1Evaluator(MultiTurnEvaluator):
    """`multi_turn_task_success_v1`."""

    question: ClassVar[str] = (
        "You judge a conversation between a user and an agent: did the user get everything that was asked for? What "
        "the agent only announced does not count as done."
    )


class MultiTurnTrajectoryQualityV1Evaluator(MultiTurnEvaluator):
    """`multi_turn_trajectory_quality_v1`."""

    question: ClassVar[str] = (
        "You judge a conversation between a user and an agent: did the agent take a sensible path to the goal, "
        "without steps that lead nowhere, repeat themselves or contradict each other?"
    )


class MultiTurnToolUseQualityV1Evaluator(MultiTurnEvaluator):
    """`multi_turn_tool_use_quality_v1`."""

    question: ClassVar[str] = (
        "You judge a conversation between a user and an agent: did the agent call the right tools with the right "
        "arguments, and use what they returned?"
    )
