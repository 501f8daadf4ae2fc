"""EvalConfig: the content of `test_config.json`, and the metrics made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, SerializeAsAny, ValidationError, field_validator
from pydantic_core import ErrorDetails

from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.metrics.criteria import BaseCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric, MetricInfo, PrebuiltMetrics, canonical_name
from newel.evaluation.simulation.user_simulator import BaseUserSimulatorConfig, simulator_config
from newel.evaluation.storage.files import read_text
from newel_kernel import ConfigurationError

CriterionOrThreshold = float | SerializeAsAny[BaseCriterion]
#: The metrics that every run reports without being asked.
EFFICIENCY = (
    PrebuiltMetrics.TOOL_CALL_COUNT_V1.value,
    PrebuiltMetrics.INFERENCE_CALL_COUNT_V1.value,
    PrebuiltMetrics.TOKEN_USAGE_V1.value,
    PrebuiltMetrics.INVOCATION_DURATION_V1.value,
)
_DEFAULTS = {
    PrebuiltMetrics.TOOL_TRAJECTORY_AVG_SCORE.value: 1.0,
    PrebuiltMetrics.RESPONSE_MATCH_SCORE.value: 0.8,
}


class FunctionName(EvalBaseModel):
    """A function by its dotted name."""

    name: str


class CustomMetricConfig(EvalBaseModel):
    """A user-defined metric."""

    code_config: FunctionName
    metric_info: MetricInfo | None = None
    description: str = ""


class LiveModelConfig(EvalBaseModel):
    """How live agents are evaluated."""

    timeout_seconds: int = 300


class EvalConfig(EvalBaseModel):
    """Criteria by metric, in the order in which results show them."""

    criteria: dict[str, CriterionOrThreshold] = Field(default_factory=dict)
    custom_metrics: dict[str, CustomMetricConfig] | None = None
    user_simulator_config: SerializeAsAny[BaseUserSimulatorConfig] | None = None
    live_model_config: LiveModelConfig | None = None

    @field_validator("criteria", mode="before")
    @classmethod
    def _canonical(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        # A check may give only its `value`: the threshold is then 1.
        return {
            canonical_name(name): {"threshold": 1.0, **one} if isinstance(one, dict) and "value" in one else one
            for name, one in value.items()
        }

    @field_validator("user_simulator_config", mode="before")
    @classmethod
    def _simulator(cls, value: Any) -> Any:
        return simulator_config(value) if isinstance(value, dict) else value


def criterion_of(value: Any) -> BaseCriterion:
    """A criterion from a bare threshold, a mapping or a criterion; a text or a list is the `value` of a check."""
    if isinstance(value, BaseCriterion):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return BaseCriterion(threshold=float(value))
    if isinstance(value, dict):
        return BaseCriterion.model_validate({"threshold": 1.0, **value} if "value" in value else value)
    return BaseCriterion.model_validate({"threshold": 1.0, "value": value})


def get_evaluation_criteria_or_default(eval_config_file_path: str | None) -> EvalConfig:
    """The config of a file; if there is none: every tool call as expected, and four fifths of the words."""
    if not eval_config_file_path or not Path(eval_config_file_path).is_file():
        return EvalConfig.model_validate({"criteria": _DEFAULTS})
    text = read_text(eval_config_file_path)
    try:
        return EvalConfig.model_validate_json(text)
    except ValidationError as error:
        problems = "; ".join(dict.fromkeys(map(_problem, error.errors(include_url=False))))
        raise ConfigurationError(f"{eval_config_file_path} is not an evaluation config: {problems}") from None


def _problem(error: ErrorDetails) -> str:
    place = error["loc"]
    if len(place) > 2 and place[0] == "criteria":  # it fits neither of the two forms
        return f"criteria.{place[1]}: write a number, the threshold, or an object with `threshold`"
    return f"{'.'.join(map(str, place)) or 'the file'}: {error['msg']}"


def append_default_efficiency_metrics(eval_metrics: list[EvalMetric]) -> list[EvalMetric]:
    """`eval_metrics` and the informational metrics that they lack."""
    names = {metric.metric_name for metric in eval_metrics}
    return [*eval_metrics, *(EvalMetric(metric_name=name) for name in EFFICIENCY if name not in names)]


def get_eval_metrics_from_config(eval_config: EvalConfig) -> list[EvalMetric]:
    """The metrics of a config in its order, then the informational ones."""
    own = eval_config.custom_metrics or {}
    metrics = []
    for name, value in eval_config.criteria.items():
        criterion = criterion_of(value)
        metrics.append(
            EvalMetric(
                metric_name=name,
                threshold=criterion.threshold,
                criterion=criterion,
                custom_function_path=own[name].code_config.name if name in own else None,
            )
        )
    return append_default_efficiency_metrics(metrics)
