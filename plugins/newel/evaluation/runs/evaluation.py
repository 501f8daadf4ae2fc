"""`evaluate`: the one coroutine that runs an evaluation and returns everything; it asserts and prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

from newel.apps.app import App
from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.inference.case_inference import Stage, Stores
from newel.evaluation.metrics.eval_config import EvalConfig, get_evaluation_criteria_or_default
from newel.evaluation.metrics.metric_evaluator_registry import (
    DEFAULT_METRIC_EVALUATOR_REGISTRY,
    MetricEvaluatorRegistry,
)
from newel.evaluation.results.eval_result import EvalCaseResult
from newel.evaluation.runs.engine import Engine
from newel.evaluation.runs.options import RunOptions
from newel.evaluation.runs.plan import Plan
from newel.evaluation.runs.run_file import record_at
from newel.evaluation.runs.stored import fold, unit_of
from newel.evaluation.runs.units import FAILED, PASSED, SKIPPED, XFAILED, XPASSED, Key, UnitResult, slim, units_of
from newel.evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from newel_kernel import BaseAgent, ConfigurationError, did_you_mean

DEFAULT_APP = "evaluation"


@dataclass(slots=True)
class EvaluationRun:
    """A finished run, its units in file order."""

    run_id: str
    app_name: str
    created: float
    units: list[UnitResult] = field(default_factory=list)
    #: Why the run ended before its last case.
    stopped: str | None = None
    #: The result files, by eval set.
    files: dict[str, Path] = field(default_factory=dict)
    run_file: Path | None = None
    #: Where in the run file the turns of slim units are.
    places: Mapping[Key, tuple[int, int]] = field(default_factory=dict, repr=False)

    def whole_units(self, eval_set_id: str | None = None) -> Iterator[UnitResult]:
        """The units (of a set) with their turns, in file order; slim units are read one by one."""
        for unit in self.units:
            if eval_set_id is None or unit.key[0] == eval_set_id:
                if unit.key in self.places and self.run_file is not None:
                    unit = unit_of(record_at(self.run_file, self.places[unit.key]))
                yield unit

    @property
    def results(self) -> list[EvalCaseResult]:
        """The results, in file order."""
        return [unit.result for unit in self.units]

    @property
    def passed(self) -> bool:
        """Whether at least one unit ran, the run was not stopped, and no unit failed or could not be evaluated."""
        good = (PASSED, XFAILED, XPASSED, SKIPPED)
        ran = any(unit.outcome != SKIPPED for unit in self.units)
        return ran and self.stopped is None and all(unit.outcome in good for unit in self.units)

    def count(self, outcome: str) -> int:
        """How many units have this outcome."""
        return sum(unit.outcome == outcome for unit in self.units)

    def failures(self) -> list[UnitResult]:
        """The units that failed."""
        return [unit for unit in self.units if unit.outcome == FAILED]


class EvaluateOptions(TypedDict, total=False):
    """The options of `evaluate` other than agent, sets and config."""

    #: The app around the agent; its plugins run, too. It may be given instead of the agent.
    app: App | None
    app_name: str | None
    options: RunOptions | None
    #: Metrics in addition to those of the plugins.
    registry: MetricEvaluatorRegistry | None
    #: Stores that all cases share; by default each has its own.
    stores: Stores | None
    user_simulator_provider: UserSimulatorProvider | None
    #: The agent's folder, from which metrics may be named.
    folder: str | Path | None
    #: The file that makes everything finished durable. `resume` continues its run.
    run_file: str | Path | None
    resume: bool
    #: Where result files go; by default next to the run file.
    results_folder: str | Path | None
    #: A stored run whose turns are judged instead of running the agent.
    reuse: str | Path | None
    #: Keep only what a summary needs of each unit, so that thousands fit into memory; `whole_units` reads the rest.
    slim: bool
    #: Called with each whole unit as it ends.
    on_result: Callable[[UnitResult], None] | None


async def evaluate(
    agent: BaseAgent | None,
    eval_sets: EvalSet | Sequence[EvalSet],
    config: EvalConfig | None = None,
    **more: Unpack[EvaluateOptions],
) -> EvaluationRun:
    """Run an agent against eval sets, and judge it; `more` are `EvaluateOptions`.

    Without `config`: every tool call as expected, and four fifths of the words of answers. A ConfigurationError says
    what cannot work before the first case runs; what fails later fails its case.
    """
    sets = [eval_sets] if isinstance(eval_sets, EvalSet) else list(eval_sets)
    _check(agent, sets, config, more)
    engine = Engine(_plan(agent, sets, config or get_evaluation_criteria_or_default(None), more))
    on_result = more.get("on_result")
    is_slim = more.get("slim", False) and engine.file is not None
    ended: dict[Key, UnitResult] = {}
    try:
        async with aclosing(engine.stream()) as units:
            async for unit in units:
                ended[unit.key] = slim(unit) if is_slim else unit
                if on_result is not None:
                    on_result(unit)
        return _finished(engine, ended, is_slim)
    finally:
        if engine.file is not None:
            engine.file.close()


def _check(agent: object, sets: Sequence[object], config: object, more: Iterable[str]) -> None:
    """Refuse arguments of wrong types, and unknown options, which nothing would read."""
    wrong_set = next((one for one in sets if not isinstance(one, EvalSet)), None)
    options = EvaluateOptions.__annotations__
    unknown = next((name for name in more if name not in options), None)
    if unknown is not None:
        hint = did_you_mean(unknown, options) or did_you_mean(unknown, RunOptions.model_fields)
        raise ConfigurationError(
            f"evaluate has no option {unknown!r}{hint} (the options of a run go in options=RunOptions(...))"
        )
    if agent is not None and not isinstance(agent, BaseAgent):
        raise ConfigurationError(f"evaluate got {agent!r} as the agent; give an agent, or app=")
    if wrong_set is not None:
        raise ConfigurationError(
            f"evaluate got {wrong_set!r} as an eval set; give an EvalSet, such as EvalSet.model_validate_json(text)"
        )
    if config is not None and not isinstance(config, EvalConfig):
        raise ConfigurationError(f"evaluate got {config!r} as the config; give an EvalConfig(criteria=...)")


def _plan(agent: BaseAgent | None, sets: list[EvalSet], config: EvalConfig, more: EvaluateOptions) -> Plan:
    app = more.get("app")
    root = app.root_agent if app is not None else agent
    if root is None:
        raise ConfigurationError("evaluate needs an `agent` or an `app`")
    return Plan(
        stage=Stage(root, app, more.get("stores") or Stores()),
        sets=sets,
        config=config,
        app_name=more.get("app_name") or (app.name if app is not None else DEFAULT_APP),
        options=more.get("options") or RunOptions(),
        registry=(more.get("registry") or DEFAULT_METRIC_EVALUATOR_REGISTRY).copy(),
        simulators=more.get("user_simulator_provider"),
        folder=_path(more.get("folder")),
        run_file=_path(more.get("run_file")),
        resume=more.get("resume", False),
        results_folder=_path(more.get("results_folder")),
        reuse=_path(more.get("reuse")),
    )


def _path(value: str | Path | None) -> Path | None:
    return Path(value) if value is not None else None


def _finished(engine: Engine, ended: dict[Key, UnitResult], is_slim: bool) -> EvaluationRun:
    plan, file = engine.plan, engine.file
    keys = [unit.key for unit in units_of(plan.sets, plan.options)]
    for key in keys:
        if file is not None and key not in ended and key in file.results:
            stored = unit_of(file.record(key))
            ended[key] = slim(stored) if is_slim else stored
    run = EvaluationRun(
        engine.run_id, plan.app_name, engine.created, [ended[key] for key in keys if key in ended], engine.stopped
    )
    if file is not None:
        run.run_file = file.path
        run.places = file.results if is_slim else {}
        if engine.stopped is None:
            run.files = write_results(engine)
    return run


def write_results(engine: Engine) -> dict[str, Path]:
    """Fold the run file into a result file for each set."""
    plan, file = engine.plan, engine.file
    assert file is not None
    files: dict[str, Path] = {}
    for eval_set in plan.sets:
        set_id = eval_set.eval_set_id
        keys = [unit.key for unit in units_of([eval_set], plan.options) if unit.key in file.results]
        files[set_id] = fold(file, set_id, keys, plan.results_folder or file.path.parent, files.values())
    return files
