"""The mean of each metric of a case over all turns of all its runs, and the failures among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from newel.evaluation.metrics.eval_metrics import EvalMetricResult, EvalMetricResultPerInvocation, EvalStatus
from newel.evaluation.metrics.scoring import mean, status_of
from newel.evaluation.runs.units import UnitResult


@dataclass(slots=True)
class MetricMean:
    """One metric of one case."""

    case_id: str
    metric_name: str
    threshold: float | None
    score: float | None
    turns: list[tuple[EvalMetricResultPerInvocation, EvalMetricResult]] = field(default_factory=list)
    #: Why it could not be computed.
    error: str | None = None

    @property
    def status(self) -> EvalStatus:
        """The status of the mean, by the threshold."""
        return status_of(self.score, self.threshold)


def metric_means(units: Sequence[UnitResult], metrics: Sequence[str]) -> list[MetricMean]:
    """The means of the metrics, case by case."""
    means: dict[tuple[str, str], MetricMean] = {}
    for unit in units:
        for one in unit.result.overall_eval_metric_results:
            if one.metric_name in metrics:
                key = (unit.key[1], one.metric_name)
                metric = means.setdefault(key, MetricMean(*key, one.threshold, None))
                metric.error = metric.error or one.details.error
        for turn in unit.result.eval_metric_result_per_invocation:
            for one in turn.eval_metric_results:
                if (unit.key[1], one.metric_name) in means:
                    means[unit.key[1], one.metric_name].turns.append((turn, one))
    for metric in means.values():
        metric.score = mean(one.score for _, one in metric.turns if one.score is not None)
    return list(means.values())


def failure_lines(units: Sequence[UnitResult], means: Sequence[MetricMean], agent: str) -> list[str]:
    """One line for each metric that failed or has no score, and for each case that did not run."""
    lines = []
    for one in means:
        where = f"{one.metric_name} for {agent}"
        if one.status is EvalStatus.FAILED:
            lines.append(f"{where} Failed. Expected {one.threshold}, but got {one.score}. (case {one.case_id})")
        elif one.status is EvalStatus.NOT_EVALUATED:
            why = f": {one.error}" if one.error else ""
            lines.append(f"{where} was not evaluated{why}. (case {one.case_id})")
    errors = {
        unit.key[1]: unit.result.error_message
        for unit in units
        if not unit.result.overall_eval_metric_results and unit.outcome != "skipped"
    }
    return lines + [
        f"The case {case_id} for {agent} Failed before any metric: {why}" for case_id, why in errors.items()
    ]
