"""Counts that every run reports: calls of tools and models, tokens, seconds."""

from __future__ import annotations

from collections.abc import Sequence

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import (
    Invocation,
    InvocationEvents,
    get_all_tool_calls,
    get_all_usage_metadata,
)
from newel.evaluation.metrics.eval_metrics import (
    DurationDetails,
    EvalMetric,
    EvalMetricResultDetails,
    EvalStatus,
    TokenUsageDetails,
)
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from newel.evaluation.metrics.scoring import paired


class CountEvaluator(Evaluator):
    """Counts something in each turn; the conversation has the mean over all turns."""

    def __init__(self, eval_metric: EvalMetric | None = None) -> None:
        """The metric may be omitted: counts have no criterion."""

    def count(self, turn: Invocation) -> float | None:
        """The count of a turn, None if nothing was recorded."""
        raise NotImplementedError

    def details(self, turns: Sequence[Invocation]) -> EvalMetricResultDetails | None:
        """The parts that the count of `turns` consists of."""
        return None

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Count in every turn."""
        pairs = paired(actual_invocations, expected_invocations)
        counts = [self.count(actual) for actual, _ in pairs]
        turns = [
            PerInvocationResult(
                actual_invocation=actual,
                expected_invocation=expected,
                score=score,
                eval_status=EvalStatus.INFORMATIONAL,
                details=self.details([actual]),
            )
            for (actual, expected), score in zip(pairs, counts, strict=True)
        ]
        if all(score is None for score in counts):
            return EvaluationResult(per_invocation_results=turns)
        return EvaluationResult(
            overall_score=sum(score or 0.0 for score in counts) / len(counts),
            overall_eval_status=EvalStatus.INFORMATIONAL,
            per_invocation_results=turns,
            details=self.details(actual_invocations),
        )


class ToolCallCountEvaluator(CountEvaluator):
    """`tool_call_count_v1`."""

    def count(self, turn: Invocation) -> float:
        """The calls of tools."""
        return float(len(get_all_tool_calls(turn.intermediate_data)))


class InferenceCallCountEvaluator(CountEvaluator):
    """`inference_call_count_v1`."""

    def count(self, turn: Invocation) -> float:
        """The events from a model, recognised by their usage or the model's version."""
        data = turn.intermediate_data
        events = data.invocation_events if isinstance(data, InvocationEvents) else ()
        return float(sum(1 for e in events if e.usage_metadata is not None or e.model_version))


class TokenUsageEvaluator(CountEvaluator):
    """`token_usage_v1`: a turn without usage counts as 0 in the mean."""

    def count(self, turn: Invocation) -> float | None:
        """The number of all tokens."""
        used = get_all_usage_metadata(turn.intermediate_data)
        return float(sum(one.total_token_count or 0 for one in used)) if used else None

    def details(self, turns: Sequence[Invocation]) -> EvalMetricResultDetails | None:
        """The tokens by kind."""
        used = [one for turn in turns for one in get_all_usage_metadata(turn.intermediate_data)]
        if not used:
            return None
        return EvalMetricResultDetails(
            token_usage_details=TokenUsageDetails(
                input_tokens=sum(one.prompt_token_count or 0 for one in used),
                output_tokens=sum(one.candidates_token_count or 0 for one in used),
                cached_tokens=sum(one.cached_content_token_count or 0 for one in used),
                reasoning_tokens=sum(one.thoughts_token_count or 0 for one in used),
            )
        )


class InvocationDurationEvaluator(CountEvaluator):
    """`invocation_duration_v1`: seconds."""

    def count(self, turn: Invocation) -> float | None:
        """The seconds of a turn that this process ran."""
        return turn.duration

    def details(self, turns: Sequence[Invocation]) -> EvalMetricResultDetails | None:
        """The seconds of models, of tools, and of the rest."""
        timed = [turn for turn in turns if turn.duration is not None]
        if not timed:
            return None
        model = sum(turn.model_duration or 0.0 for turn in timed)
        tool = sum(turn.tool_duration or 0.0 for turn in timed)
        whole = sum(turn.duration or 0.0 for turn in timed)
        return EvalMetricResultDetails(
            duration_details=DurationDetails(
                model_seconds=model, tool_seconds=tool, framework_seconds=max(0.0, whole - model - tool)
            )
        )
