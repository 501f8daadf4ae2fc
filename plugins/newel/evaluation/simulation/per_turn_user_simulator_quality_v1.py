"""PerTurnUserSimulatorQualityV1: how well a simulated user keeps to its scenario."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.conversation_texts import dialogue
from newel.evaluation.judges.fence import Fence
from newel.evaluation.judges.llm_as_judge import answer_text
from newel.evaluation.judges.llm_as_judge_utils import field, label_of, last_of, score_of
from newel.evaluation.judges.model_calls import ask, prompt
from newel.evaluation.metrics.criteria import BaseCriterion, LlmBackedUserSimulatorCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalMetricResultDetails
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from newel.evaluation.metrics.scoring import needed_criterion, paired, status_of, text_of
from newel.evaluation.simulation.per_turn_user_simulator_quality_prompts import (
    get_per_turn_user_simulator_quality_prompt,
)

_FIELD = re.compile(r'"is_valid"\s*:')
_LABEL = field("is_valid")


class PerTurnUserSimulatorQualityV1(Evaluator):
    """`per_turn_user_simulator_quality_v1`: the share of the user's messages that fit the scenario.

    The first is compared with the starting prompt, the others are judged; whether stopping was right counts for the
    last.
    """

    criterion_type: ClassVar[type[BaseCriterion]] = LlmBackedUserSimulatorCriterion

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._criterion: Any = needed_criterion(eval_metric, LlmBackedUserSimulatorCriterion)
        self._options = self._criterion.judge_model_options
        self._threshold = eval_metric.bar

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Judge every message of the user."""
        if conversation_scenario is None:
            raise ValueError("per_turn_user_simulator_quality_v1 judges simulated users, and the case has no scenario")
        if not actual_invocations:
            return EvaluationResult()
        turns = []
        for number, (actual, expected) in enumerate(paired(actual_invocations, expected_invocations)):
            score, error = await self._message(number, actual_invocations, conversation_scenario)
            turns.append(self._result(actual, expected, score, error))
        stop, error = await self._judged(actual_invocations, self._criterion.stop_signal, conversation_scenario)
        if stop == 0.0:
            last = turns[-1]
            turns[-1] = self._result(last.actual_invocation, last.expected_invocation, stop, error)
        score = sum(turn.score or 0.0 for turn in turns) / len(turns)
        return EvaluationResult(
            overall_score=score,
            overall_eval_status=status_of(score, self._threshold),
            per_invocation_results=turns,
        )

    def _result(
        self, actual: Invocation, expected: Invocation | None, score: float | None, error: str | None
    ) -> PerInvocationResult:
        return PerInvocationResult(
            actual_invocation=actual,
            expected_invocation=expected,
            score=score,
            eval_status=status_of(score, self._threshold),
            details=EvalMetricResultDetails(error=error) if error else None,
        )

    async def _message(
        self, number: int, turns: list[Invocation], scenario: ConversationScenario
    ) -> tuple[float | None, str | None]:
        text = text_of(turns[number].user_content)
        if number == 0:
            return float(text.strip() == scenario.starting_prompt.strip()), None
        return await self._judged(turns[:number], text, scenario)

    async def _judged(
        self, before: list[Invocation], message: str, scenario: ConversationScenario
    ) -> tuple[float | None, str | None]:
        """The majority of the samples; a tie is 0."""
        history = dialogue(before, with_steps=False)
        fence = Fence(history, message)
        question = get_per_turn_user_simulator_quality_prompt(
            fence, scenario, history, message, self._criterion.stop_signal
        )
        votes: list[float] = []
        error = None
        for judge in self._options.judges:
            for sample in range(self._options.num_samples):
                try:
                    answer = await ask(judge, prompt(question), self._options.judge_model_config, sample=sample)
                except Exception as failure:  # noqa: BLE001 - a judge may be a plugin's; only this turn fails
                    error = f"the judge {judge!r} failed: {type(failure).__name__}: {failure}"
                    continue
                label = last_of(_LABEL, fence.without_echo(answer_text(answer), _FIELD))
                score = score_of(label_of((label or "").lower()))
                if score is not None:
                    votes.append(score)
        return (float(sum(votes) * 2 > len(votes)) if votes else None), error
