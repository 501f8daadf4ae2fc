"""Metrics by name, what they report about themselves, and the results they give."""

from enum import Enum
from typing import Protocol, Self, TypeAlias

from pydantic import Field, SerializeAsAny, field_validator

from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.cases.eval_rubrics import Rubric, RubricScore
from newel.evaluation.metrics.criteria import (
    BaseCriterion,
    HallucinationsCriterion,
    JudgeModelOptions,
    LlmAsAJudgeCriterion,
    LlmBackedUserSimulatorCriterion,
    RubricsBasedCriterion,
    ToolTrajectoryCriterion,
)

__all__ = [
    "BaseCriterion",
    "DurationDetails",
    "EvalMetric",
    "EvalMetricResult",
    "EvalMetricResultDetails",
    "EvalMetricResultPerInvocation",
    "EvalStatus",
    "HallucinationsCriterion",
    "Interval",
    "JudgeModelOptions",
    "LlmAsAJudgeCriterion",
    "LlmBackedUserSimulatorCriterion",
    "MetricInfo",
    "MetricInfoProvider",
    "MetricName",
    "MetricValueInfo",
    "PrebuiltMetrics",
    "Rubric",
    "RubricScore",
    "RubricsBasedCriterion",
    "Threshold",
    "TokenUsageDetails",
    "ToolTrajectoryCriterion",
    "canonical_name",
]


class EvalStatus(Enum):
    """The outcome of a metric or a case: numbers in files, names in output."""

    PASSED = 1
    FAILED = 2
    NOT_EVALUATED = 3
    #: A report that never passes or fails.
    INFORMATIONAL = 4


class PrebuiltMetrics(Enum):
    """The names of the released metrics."""

    TOOL_TRAJECTORY_AVG_SCORE = "tool_trajectory_avg_score"
    RESPONSE_EVALUATION_SCORE = "response_evaluation_score"
    RESPONSE_MATCH_SCORE = "response_match_score"
    SAFETY_V1 = "safety_v1"
    FINAL_RESPONSE_MATCH_V2 = "final_response_match_v2"
    RUBRIC_BASED_FINAL_RESPONSE_QUALITY_V1 = "rubric_based_final_response_quality_v1"
    HALLUCINATIONS_V1 = "hallucinations_v1"
    RUBRIC_BASED_TOOL_USE_QUALITY_V1 = "rubric_based_tool_use_quality_v1"
    PER_TURN_USER_SIMULATOR_QUALITY_V1 = "per_turn_user_simulator_quality_v1"
    MULTI_TURN_TASK_SUCCESS_V1 = "multi_turn_task_success_v1"
    MULTI_TURN_TRAJECTORY_QUALITY_V1 = "multi_turn_trajectory_quality_v1"
    MULTI_TURN_TOOL_USE_QUALITY_V1 = "multi_turn_tool_use_quality_v1"
    RUBRIC_BASED_MULTI_TURN_TRAJECTORY_QUALITY_V1 = "rubric_based_multi_turn_trajectory_quality_v1"
    TOOL_CALL_COUNT_V1 = "tool_call_count_v1"
    INFERENCE_CALL_COUNT_V1 = "inference_call_count_v1"
    TOKEN_USAGE_V1 = "token_usage_v1"  # noqa: S105 - a metric's name
    INVOCATION_DURATION_V1 = "invocation_duration_v1"

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        """The member for a name that occurs only in the specification."""
        name = canonical_name(value)
        return None if name == value else cls(name)


MetricName: TypeAlias = str | PrebuiltMetrics
Threshold: TypeAlias = float
#: Names that the specification prints, and the released ones that they mean.
_SPECIFIED = {"tool_trajectory_score": "tool_trajectory_avg_score", "safety_score": "safety_v1"}


def canonical_name(name: object) -> str:
    """The released name of a metric; the two that only the specification has are translated."""
    text = str(name.value if isinstance(name, PrebuiltMetrics) else name)
    return _SPECIFIED.get(text, text)


class EvalMetric(EvalBaseModel):
    """A metric with its threshold. The field `threshold` is older; the criterion holds it, too, and more settings."""

    metric_name: str
    threshold: float | None = None
    criterion: SerializeAsAny[BaseCriterion] | None = None
    custom_function_path: str | None = None

    @field_validator("metric_name", mode="before")
    @classmethod
    def _canonical(cls, value: object) -> object:
        return canonical_name(value) if isinstance(value, (str, PrebuiltMetrics)) else value

    @property
    def bar(self) -> float | None:
        """The score that passes: the criterion's threshold, else the older field."""
        return self.criterion.threshold if self.criterion is not None else self.threshold


class TokenUsageDetails(EvalBaseModel):
    """Tokens by kind."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


class DurationDetails(EvalBaseModel):
    """Seconds: the model's, the tools', and the rest, which is the framework's."""

    model_seconds: float = 0.0
    tool_seconds: float = 0.0
    framework_seconds: float = 0.0


class EvalMetricResultDetails(EvalBaseModel):
    """Why a score is what it is. From `explanation` on the fields are newel's own."""

    rubric_scores: list[RubricScore] | None = None
    token_usage_details: TokenUsageDetails | None = None
    duration_details: DurationDetails | None = None
    #: Why the comparison failed: the first difference.
    explanation: str | None = None
    #: Why the metric could not be computed.
    error: str | None = None
    #: How far the judges agree, from 0 to 1.
    agreement: float | None = None


class EvalMetricResult(EvalMetric):
    """A metric with its score."""

    score: float | None = None
    eval_status: EvalStatus
    details: EvalMetricResultDetails = Field(default_factory=EvalMetricResultDetails)


class EvalMetricResultPerInvocation(EvalBaseModel):
    """The results of one turn."""

    actual_invocation: Invocation
    expected_invocation: Invocation | None = None
    eval_metric_results: list[EvalMetricResult] = Field(default_factory=list)


class Interval(EvalBaseModel):
    """A range of scores."""

    min_value: float
    open_at_min: bool = False
    max_value: float
    open_at_max: bool = False


class MetricValueInfo(EvalBaseModel):
    """The values that a metric can have; without an interval, any."""

    interval: Interval | None = None


class MetricInfo(EvalBaseModel):
    """What a metric is."""

    metric_name: str
    description: str | None = None
    metric_value_info: MetricValueInfo
    requires_threshold: bool = True


class MetricInfoProvider(Protocol):
    """An object that describes a metric."""

    def get_metric_info(self) -> MetricInfo:
        """The description."""
        ...
