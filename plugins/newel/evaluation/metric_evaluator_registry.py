"""MetricEvaluatorRegistry, by the released name."""

from newel.evaluation.metrics.metric_evaluator_registry import (
    DEFAULT_METRIC_EVALUATOR_REGISTRY,
    MetricEvaluatorRegistry,
    register_custom_metrics_from_config,
)

__all__ = ["DEFAULT_METRIC_EVALUATOR_REGISTRY", "MetricEvaluatorRegistry", "register_custom_metrics_from_config"]
