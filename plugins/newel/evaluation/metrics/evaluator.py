"""Evaluator: what computes a metric, and what it returns."""

from abc import ABC
from collections.abc import Awaitable, Sequence
from typing import ClassVar, TypeAlias

from pydantic import Field

from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.cases.eval_rubrics import RubricScore
from newel.evaluation.metrics.criteria import BaseCriterion, JudgeModelOptions
from newel.evaluation.metrics.eval_metrics import EvalMetricResultDetails, EvalStatus

__all__ = ["EvalStatus", "EvaluationResult", "Evaluator", "Outcome", "PerInvocationResult"]


class PerInvocationResult(EvalBaseModel):
    """The score of one turn."""

    actual_invocation: Invocation
    expected_invocation: Invocation | None = None
    score: float | None = None
    eval_status: EvalStatus = EvalStatus.NOT_EVALUATED
    rubric_scores: list[RubricScore] | None = None
    #: Details beyond the rubrics' scores: the reason, the tokens, the duration.
    details: EvalMetricResultDetails | None = None


class EvaluationResult(EvalBaseModel):
    """The score of a whole conversation, with each turn's."""

    overall_score: float | None = None
    overall_eval_status: EvalStatus = EvalStatus.NOT_EVALUATED
    per_invocation_results: list[PerInvocationResult] = Field(default_factory=list)
    overall_rubric_scores: list[RubricScore] | None = None
    details: EvalMetricResultDetails | None = None


Outcome: TypeAlias = EvaluationResult | Awaitable[EvaluationResult]


class Evaluator(ABC):  # noqa: B024 - subclasses may be plain or async, so nothing is abstract
    """Computes one metric for a conversation. Subclass it; `evaluate_invocations` may be plain or async."""

    #: The criterion that the metric reads.
    criterion_type: ClassVar[type[BaseCriterion]] = BaseCriterion

    @property
    def judges(self) -> Sequence[str]:
        """The addresses of the models that it asks; a run does not begin if one of them is not available."""
        options = getattr(self, "_options", None)
        return options.judges if isinstance(options, JudgeModelOptions) else ()

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Outcome:
        """Compare what the agent did with what is expected of it, turn by turn."""
        raise NotImplementedError(f"{type(self).__name__} has no evaluate_invocations")
