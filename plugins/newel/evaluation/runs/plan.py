"""The plan of a run: its agent, its sets, its metrics, and where its files go."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.inference.case_inference import Stage
from newel.evaluation.metrics.eval_config import EFFICIENCY, EvalConfig, criterion_of, get_eval_metrics_from_config
from newel.evaluation.metrics.eval_metrics import EvalMetric, canonical_name
from newel.evaluation.metrics.metric_evaluator_registry import (
    DEFAULT_METRIC_EVALUATOR_REGISTRY,
    MetricEvaluatorRegistry,
    register_custom_metrics_from_config,
)
from newel.evaluation.plugins import brought_by
from newel.evaluation.runs.options import RunOptions
from newel.evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from newel.evaluation.storage.files import problems_of
from newel.models.kinds import model_of
from newel_kernel import ConfigurationError, ModelError, did_you_mean

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Plan:
    """Everything that a run needs to know."""

    stage: Stage
    sets: Sequence[EvalSet]
    config: EvalConfig
    app_name: str
    options: RunOptions = field(default_factory=RunOptions)
    registry: MetricEvaluatorRegistry = field(default_factory=DEFAULT_METRIC_EVALUATOR_REGISTRY.copy)
    simulators: UserSimulatorProvider | None = None
    #: The agent's folder; custom metrics may come from its modules.
    folder: Path | None = None
    #: Where the run is kept; None: in memory only.
    run_file: Path | None = None
    #: Where its result files go; by default next to it.
    results_folder: Path | None = None
    resume: bool = False
    #: A stored run whose inferences are judged instead of the agent's.
    reuse: Path | None = None

    def metrics(self, eval_set: EvalSet) -> list[EvalMetric]:
        """The metrics of a set; its own criteria override the config's."""
        if not eval_set.criteria:
            return get_eval_metrics_from_config(self.config)
        own = {canonical_name(name): value for name, value in eval_set.criteria.items()}
        merged = EvalConfig(criteria={**self.config.criteria, **own}, custom_metrics=self.config.custom_metrics)
        return get_eval_metrics_from_config(merged)

    @property
    def live_seconds(self) -> float | None:
        """How long a turn of a live run may take; None: cases do not run live."""
        live = self.config.live_model_config
        return float(live.timeout_seconds) if live is not None else None

    def check(self) -> None:
        """Before the first case runs, refuse what cannot work: unknown metrics, bad criteria, two sets with one id."""
        register_custom_metrics_from_config(self.config, self.registry, self.folder)
        names = [info.metric_name for info in self.registry.get_registered_metrics()]
        entries = [(where, name, value) for where, criteria in self._criteria() for name, value in criteria.items()]
        problems = [
            f"{where}: no metric {name!r} is installed{brought_by(name) or did_you_mean(name, names)} "
            f"(`newel eval metrics` lists them)"
            for where, name, _ in entries
            if canonical_name(name) not in names
        ]
        problems += self._criterion_problems([one for one in entries if canonical_name(one[1]) in names])
        ids = [eval_set.eval_set_id for eval_set in self.sets]
        problems += [f"two eval sets have the id {one!r}" for one in sorted({i for i in ids if ids.count(i) > 1})]
        problems += [problem for eval_set in self.sets for problem in _repeated_cases(eval_set)]
        if self.live_seconds is not None and self.options.cassette is not None:
            problems.append(
                "a cassette keeps answers to requests, and a live connection has none: leave --cassette out, or "
                "live_model_config"
            )
        if problems:
            raise ConfigurationError("; ".join(problems))

    def _criterion_problems(self, entries: list[tuple[str, str, Any]]) -> list[str]:
        """What is wrong with criteria: a type that the metric does not take, a service that is not configured."""
        problems: dict[str, None] = {}  # each once, in order
        seen = set()
        for where, name, value in entries:
            key = (canonical_name(name), repr(value))
            if key in seen:
                continue
            seen.add(key)
            try:
                evaluator = self.registry.get_evaluator(EvalMetric(metric_name=name, criterion=criterion_of(value)))
                problems |= dict.fromkeys(f"{where}: {name}: {problem}" for problem in self._without(evaluator.judges))
            except ValidationError as error:
                problems[f"{where}: the criterion of {name}: {problems_of(error)}"] = None
            except ConfigurationError as error:
                problems[f"{where}: {error}"] = None
            except Exception:  # noqa: BLE001 - a metric may be a plugin's; its failure shows when it runs
                _log.debug("the metric %s cannot be made yet", name, exc_info=True)
        return list(problems)

    def _without(self, judges: Sequence[str]) -> Iterator[str]:
        """Why a judge cannot be asked: no provider has it, or its key is missing. Recorded answers need no judge."""
        if self.options.cassette in (None, "record"):
            for judge in judges:
                try:
                    model_of(self.stage.composition, judge)
                except ModelError as error:
                    yield f"the judge {judge!r} cannot be asked: {error}"

    def _criteria(self) -> list[tuple[str, Any]]:
        criteria_by_place: list[tuple[str, Any]] = [("the config", self.config.criteria)]
        for eval_set in self.sets:
            criteria_by_place.append((f"the set {eval_set.eval_set_id!r}", eval_set.criteria))
            for case in eval_set.eval_cases:
                for criteria in (case.criteria, *case.turn_criteria.values()):
                    if criteria:
                        criteria_by_place.append((f"the case {case.eval_id!r}", criteria))
        return criteria_by_place

    def requested(self, eval_set: EvalSet) -> list[str]:
        """The metrics of a set that have to be computed: all but those that only report."""
        return [metric.metric_name for metric in self.metrics(eval_set) if metric.metric_name not in EFFICIENCY]

    def header(self, run_id: str, created: float) -> dict[str, Any]:
        """The header of the run file."""
        return {
            "run_id": run_id,
            "app_name": self.app_name,
            "created": created,
            "sets": {eval_set.eval_set_id: digest(eval_set) for eval_set in self.sets},
            "order": [f"{one.eval_set_id}/{case.eval_id}" for one in self.sets for case in one.eval_cases],
            "metrics": list(self.config.criteria),
            "options": self.options.model_dump(mode="json", exclude_defaults=True),
        }


def _repeated_cases(eval_set: EvalSet) -> list[str]:
    seen: set[str] = set()
    problems = []
    for case in eval_set.eval_cases:
        if case.eval_id in seen:
            problems.append(f"two cases of the set {eval_set.eval_set_id!r} have the id {case.eval_id!r}")
        seen.add(case.eval_id)
    return problems


def digest(eval_set: EvalSet) -> str:
    """A digest that tells two versions of a set apart."""
    text = eval_set.model_dump_json(exclude_defaults=True, exclude_none=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
