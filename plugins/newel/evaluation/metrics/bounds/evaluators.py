"""Bounds: how much a case may use at most. The score is the amount used; it passes up to the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation, get_all_tool_calls, get_all_usage_metadata
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalMetricResultDetails, EvalStatus
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from newel.evaluation.metrics.scoring import answer_of, paired
from newel.evaluation.runs.accounts import accounts
from newel_kernel import ConfigurationError


class BoundEvaluator(Evaluator):
    """Compares a figure of the conversation (with `by_turn`, the largest figure of a turn) with the threshold."""

    unit: ClassVar[str] = ""
    by_turn: ClassVar[bool] = False

    def __init__(self, eval_metric: EvalMetric) -> None:
        bound = eval_metric.bar
        if bound is None:
            raise ConfigurationError(f"{eval_metric.metric_name} needs a threshold: the maximum that is allowed")
        self._bound = bound

    def figure(self, turns: Sequence[Invocation]) -> float | None:
        """The figure of `turns`; None if it is unknown."""
        raise NotImplementedError

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Compare the figures with the bound."""
        turns = []
        figures = []
        for actual, expected in paired(actual_invocations, expected_invocations):
            figure = self.figure([actual])
            figures.append(figure or 0.0)
            turns.append(
                PerInvocationResult(
                    actual_invocation=actual,
                    expected_invocation=expected,
                    score=figure,
                    eval_status=self._status(figure),
                )
            )
        whole = max(figures, default=0.0) if self.by_turn else self.figure(actual_invocations)
        status = self._status(whole)
        if not self.by_turn:  # the bound is the conversation's: a single turn neither passes nor fails
            for turn in turns:
                turn.eval_status = EvalStatus.NOT_EVALUATED if turn.score is None else EvalStatus.INFORMATIONAL
        over = (
            f"{whole:g} {self.unit}, but at most {self._bound:g} are allowed" if status is EvalStatus.FAILED else None
        )
        return EvaluationResult(
            overall_score=whole,
            overall_eval_status=status,
            per_invocation_results=turns,
            details=EvalMetricResultDetails(explanation=over),
        )

    def _status(self, figure: float | None) -> EvalStatus:
        if figure is None:
            return EvalStatus.NOT_EVALUATED
        return EvalStatus.PASSED if figure <= self._bound else EvalStatus.FAILED


class MaxToolCalls(BoundEvaluator):
    """`max_tool_calls`, of the conversation."""

    unit: ClassVar[str] = "tool calls"

    def figure(self, turns: Sequence[Invocation]) -> float:
        """The number of tool calls."""
        return float(sum(len(get_all_tool_calls(turn.intermediate_data)) for turn in turns))


class MaxSeconds(BoundEvaluator):
    """`max_seconds`, of the conversation."""

    unit: ClassVar[str] = "seconds"

    def figure(self, turns: Sequence[Invocation]) -> float | None:
        """The seconds, if this process ran the turns."""
        durations = [turn.duration for turn in turns if turn.duration is not None]
        return sum(durations) if durations else None


class MaxTokens(BoundEvaluator):
    """`max_tokens`, of the agent in the conversation."""

    unit: ClassVar[str] = "tokens"

    def figure(self, turns: Sequence[Invocation]) -> float | None:
        """The tokens, if the model reports them."""
        used = [one.total_token_count or 0 for t in turns for one in get_all_usage_metadata(t.intermediate_data)]
        return float(sum(used)) if used else None


class MaxCost(BoundEvaluator):
    """`max_cost`, US dollars of the agent in the conversation."""

    unit: ClassVar[str] = "US dollars"

    def figure(self, turns: Sequence[Invocation]) -> float | None:
        """The cost of the case; the share of a single turn is not known."""
        usage = accounts.get()
        return usage.of("agent").cost if usage is not None else None


class MaxWords(BoundEvaluator):
    """`max_words`, of each answer."""

    unit: ClassVar[str] = "words"
    by_turn: ClassVar[bool] = True

    def figure(self, turns: Sequence[Invocation]) -> float:
        """The words of the answers."""
        return float(sum(len(answer_of(turn).split()) for turn in turns))
