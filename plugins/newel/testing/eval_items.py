"""Eval sets as tests: a test for each case and repeat of a set's file, and the function of the fixture `evaluate`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from newel.evaluation.cases.eval_case import EvalCase
from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.metrics.eval_config import EvalConfig, get_evaluation_criteria_or_default
from newel.evaluation.runs.agent_modules import agent_of_module
from newel.evaluation.runs.evaluation import EvaluationRun, evaluate
from newel.evaluation.runs.options import RunOptions
from newel.evaluation.runs.units import ERROR, FAILED, UnitResult
from newel.evaluation.storage.local_eval_sets_manager import load_eval_set_from_file
from newel.files import AppCode, load_file
from newel_compose import compose_once
from newel_kernel import BaseAgent, ConfigurationError

#: The keys of pytest's configuration.
PATHS, AGENT, REPEATS, EFFECTS = "eval_paths", "eval_agent", "eval_repeats", "eval_allow_effects"
SUFFIXES = (".evalset.json", ".test.json")
_SOURCES = ("root_agent.yaml", "agent.py")


class EvalFailure(AssertionError):
    """A case that failed, with its metrics."""


class EvalFile(pytest.File):
    """A file of an eval set."""

    def collect(self) -> Iterator[EvalItem]:
        """A test for each case and repeat."""
        stem = self.path.name.removesuffix(".json").removesuffix(".test").removesuffix(".evalset")
        eval_set = load_eval_set_from_file(self.path, stem)
        repeats = int(self.config.getini(REPEATS) or 1)
        for case in eval_set.eval_cases:
            count = case.repeats or repeats
            for repeat in range(count):
                name = case.eval_id if count == 1 else f"{case.eval_id}[{repeat + 1}]"
                yield EvalItem.from_parent(self, name=name, eval_set=eval_set, case=case)


class EvalItem(pytest.Item):
    """One case."""

    def __init__(self, *, eval_set: EvalSet, case: EvalCase, **more: Any) -> None:
        super().__init__(**more)
        self.eval_set, self.case = eval_set, case
        for tag in (*eval_set.tags, *case.tags):
            self.keywords[tag] = True
        if case.skip:
            self.add_marker(pytest.mark.skip(reason=str(case.skip)))
        if case.xfail:
            self.add_marker(pytest.mark.xfail(reason=str(case.xfail), strict=False))

    def runtest(self) -> None:
        """Run the case; EvalFailure if it fails or cannot be evaluated."""
        config = get_evaluation_criteria_or_default(str(self.path.parent / "test_config.json"))
        agent = agent_of(self.config.getini(AGENT), self.path, self.config.rootpath)
        plain = self.case.model_copy(update={"xfail": False, "skip": False, "repeats": None})
        eval_set = self.eval_set.model_copy(update={"eval_cases": [plain]})
        options = RunOptions(allow_effects=self.config.getini(EFFECTS))
        run = asyncio.run(evaluate(agent, eval_set, config, options=options, folder=self.path.parent))
        check(run)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The metrics of an EvalFailure; pytest's report of any other error."""
        return str(excinfo.value) if isinstance(excinfo.value, EvalFailure) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The file and the name of the case."""
        return self.path, 0, f"{self.eval_set.eval_set_id}: {self.name}"


def check(run: EvaluationRun) -> None:
    """Raise an EvalFailure for the cases that did not pass."""
    bad = [_report(unit) for unit in run.units if unit.outcome in (FAILED, ERROR)]
    if bad:
        raise EvalFailure("\n".join(bad))


def _report(unit: UnitResult) -> str:
    lines = [f"{unit.key[0]}/{unit.key[1]}: {unit.outcome}"]
    if unit.result.error_message:
        lines.append(f"  {unit.result.error_message}")
    for one in unit.result.overall_eval_metric_results:
        if one.eval_status.name in ("FAILED", "NOT_EVALUATED"):
            why = one.details.error or one.details.explanation
            lines.append(f"  {one.metric_name}: {one.score}, threshold {one.threshold}{f': {why}' if why else ''}")
    return "\n".join(lines)


def evaluate_case(
    agent: BaseAgent, case: EvalCase, config: EvalConfig | None = None, *, allow_effects: bool = False
) -> EvaluationRun:
    """Run one case; EvalFailure if it fails. Tools that declare an effect run with `allow_effects` only."""
    eval_set = EvalSet(eval_set_id="test", eval_cases=[case])
    run = asyncio.run(evaluate(agent, eval_set, config, options=RunOptions(allow_effects=allow_effects)))
    check(run)
    return run


def agent_of(setting: str, path: Path, root: Path) -> BaseAgent:
    """The agent that `eval_agent` names (a module, a folder, a YAML file); by default of the folder around the set."""
    if setting:
        place = root / setting
        if place.exists():
            return _of_place(place)
        return asyncio.run(agent_of_module(setting))
    for folder in path.parents:
        if any((folder / name).is_file() for name in _SOURCES):
            return _of_place(folder)
        if folder == root:
            break
    raise ConfigurationError(f"no folder around {path} has an agent; name one with `{AGENT}` in pytest's configuration")


@cache
def _of_place(place: Path) -> BaseAgent:
    if place.is_dir() and (place / "root_agent.yaml").is_file():
        place = place / "root_agent.yaml"
    loaded = load_file(place, compose_once()) if place.is_file() else _of_code(place)
    agent = loaded if isinstance(loaded, BaseAgent) else getattr(loaded, "root_agent", None)
    if not isinstance(agent, BaseAgent):
        raise ConfigurationError(f"{place} has no `root_agent`")
    return agent


def _of_code(folder: Path) -> object:
    module = AppCode(folder).module("agent")
    return getattr(module, "root_agent", None) or getattr(module, "app", None)
