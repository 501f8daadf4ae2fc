"""EvalConfig, by the released name."""

from newel.evaluation.metrics.eval_config import (
    CustomMetricConfig,
    EvalConfig,
    LiveModelConfig,
    append_default_efficiency_metrics,
    get_eval_metrics_from_config,
    get_evaluation_criteria_or_default,
)

__all__ = [
    "CustomMetricConfig",
    "EvalConfig",
    "LiveModelConfig",
    "append_default_efficiency_metrics",
    "get_eval_metrics_from_config",
    "get_evaluation_criteria_or_default",
]
