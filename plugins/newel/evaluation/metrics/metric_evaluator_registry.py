"""MetricEvaluatorRegistry: evaluators by the name of their metric."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.kinds import JudgeBackend, Metric
from newel.evaluation.metrics.custom_metric_evaluator import CustomMetricEvaluator
from newel.evaluation.metrics.eval_config import EvalConfig
from newel.evaluation.metrics.eval_metrics import EvalMetric, Interval, MetricInfo, MetricValueInfo, canonical_name
from newel.evaluation.metrics.evaluator import Evaluator
from newel.evaluation.metrics.loadable_code import load_function
from newel.evaluation.plugins import brought_by, plugin_registry
from newel_kernel import ConfigurationError, did_you_mean

#: Makes an evaluator: usually an Evaluator subclass, which takes `eval_metric`.
EvaluatorFactory = Callable[..., Evaluator]


def metric_info(metric: Metric) -> MetricInfo:
    """A plugin's metric, described as in the released registry."""
    low_high = metric.interval
    interval = Interval(min_value=low_high[0], max_value=low_high[1]) if low_high is not None else None
    return MetricInfo(
        metric_name=metric.name,
        description=metric.description,
        metric_value_info=MetricValueInfo(interval=interval),
        requires_threshold=not metric.informational,
    )


class MetricEvaluatorRegistry:
    """Evaluators that were registered in code, and with `plugins` also those of the plugins."""

    def __init__(self, *, plugins: bool = False) -> None:
        self._plugins = plugins
        self._registered: dict[str, tuple[EvaluatorFactory, MetricInfo]] = {}

    def register_evaluator(self, metric_info: MetricInfo, evaluator: EvaluatorFactory) -> None:
        """Register `evaluator` for the metric; it replaces an earlier registration of the name."""
        self._registered[canonical_name(metric_info.metric_name)] = (evaluator, metric_info)

    def get_evaluator(self, eval_metric: EvalMetric) -> Evaluator:
        """A new evaluator of the metric; NotFoundError for an unknown metric."""
        name = eval_metric.metric_name
        if name in self._registered:
            factory, info = self._registered[name]
            return _make(factory, eval_metric, info.requires_threshold)
        metric = self._metrics().get(name)
        if metric is None:
            raise NotFoundError(self._unknown(name))
        backend = backend_of(eval_metric)
        load = metric.load if backend is None else backend.load
        return _make(load(), eval_metric, not metric.informational)

    def get_registered_metrics(self) -> list[MetricInfo]:
        """Copies of the descriptions of all metrics."""
        own = [info.model_copy(deep=True) for _, info in self._registered.values()]
        return [*own, *(metric_info(m) for name, m in self._metrics().items() if name not in self._registered)]

    def copy(self) -> MetricEvaluatorRegistry:
        """A copy, which can be changed without changing this registry."""
        new = MetricEvaluatorRegistry(plugins=self._plugins)
        new._registered = dict(self._registered)
        return new

    def _metrics(self) -> dict[str, Metric]:
        return {metric.name: metric for metric in plugin_registry().all(Metric)} if self._plugins else {}

    def _unknown(self, name: str) -> str:
        names = [*self._registered, *self._metrics()]
        return (
            f"no metric {name!r} is installed{brought_by(name) or did_you_mean(name, names)}; `newel eval metrics` "
            f"lists them, a package with the hook `register_metrics` or an entry in `custom_metrics` adds one"
        )


def backend_of(eval_metric: EvalMetric) -> JudgeBackend | None:
    """The service that the criterion names; None: a judge model. ConfigurationError for one that lacks the metric."""
    options = (eval_metric.criterion.model_extra or {}) if eval_metric.criterion is not None else {}
    name = options.get("backend")
    if name is None:
        return None
    backends = {one.name: one for one in plugin_registry().all(JudgeBackend)}
    backend = backends.get(name) if isinstance(name, str) else None
    if backend is None:
        raise ConfigurationError(
            f"the criterion of {eval_metric.metric_name} names the backend {name!r}, which no plugin provides"
            f"{did_you_mean(str(name), backends)} (there are: {', '.join(sorted(backends)) or 'none'}); leave it out, "
            f"and a judge model scores"
        )
    if eval_metric.metric_name not in backend.metrics:
        raise ConfigurationError(
            f"the backend {name!r} does not compute {eval_metric.metric_name}, but {', '.join(backend.metrics)}"
        )
    return backend


def _make(factory: EvaluatorFactory, eval_metric: EvalMetric, judged: bool) -> Evaluator:
    if not judged and eval_metric.bar is not None:
        raise ConfigurationError(
            f"{eval_metric.metric_name} takes no threshold: it reports, and neither passes nor fails; "
            f"leave it out of `criteria`, every run reports it"
        )
    return factory(eval_metric=eval_metric)


def register_custom_metrics_from_config(
    eval_config: EvalConfig, registry: MetricEvaluatorRegistry, folder: str | Path | None = None
) -> MetricEvaluatorRegistry:
    """Add the functions of `custom_metrics`; each must be in a module that `code.load_function` allows."""
    for name, own in (eval_config.custom_metrics or {}).items():
        load_function(own.code_config.name, folder)
        info = own.metric_info or MetricInfo(
            metric_name=name, description=own.description, metric_value_info=MetricValueInfo()
        )
        registry.register_evaluator(info, _custom(own.code_config.name, folder))
    return registry


def _custom(path: str, folder: str | Path | None) -> EvaluatorFactory:
    def make(eval_metric: EvalMetric) -> Evaluator:
        return CustomMetricEvaluator(eval_metric=eval_metric, function=load_function(path, folder))

    return make


DEFAULT_METRIC_EVALUATOR_REGISTRY = MetricEvaluatorRegistry(plugins=True)
