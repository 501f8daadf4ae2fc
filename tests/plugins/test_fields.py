"""A setting that nobody reads does not exist: every field of every public class is read somewhere, or refused."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import newel
import newel_kernel

ROOMS = [
    *("agents", "apps", "workflow", "turns", "tools", "contexts", "planners", "code_executors", "flows", "policies"),
    *("live", "sessions", "claims", "memory", "artifacts", "models", "telemetry", "auth", "optimization", "evaluation"),
]
_REPORT = "of a report: whoever gets it reads it"
_RELEASED = "of the released checkpoint's shape, which others read"
_WHEN = ("before", "after")
#: Fields that only others read, each with who does.
FOR_OTHERS: dict[str, str] = {
    "_DefaultTaskInput.goal": "the model",
    **{f"BaseAgentConfig.{when}_agent_callbacks": "agent files, by the name of the callback" for when in _WHEN},
    "AuthorizationServerMetadata.scopes_supported": "of the standard's document",
    "NodeState.attempt_count": _RELEASED,
    "NodeState.resume_inputs": _RELEASED,
    "NodeState.run_counter": _RELEASED,
    "NodeState.parent_run_id": _RELEASED,
    "IntermediateData.intermediate_responses": "metrics of others",
    "TokenUsageDetails.cached_tokens": _REPORT,
    "Account.cached_tokens": _REPORT,
    **{f"DurationDetails.{name}": _REPORT for name in ("model_seconds", "framework_seconds")},
    **{f"EvalMetricResultDetails.{name}": _REPORT for name in ("token_usage_details", "duration_details")},
    **{f"Interval.{name}": _REPORT for name in ("min_value", "open_at_min", "max_value", "open_at_max")},
    "MetricInfo.metric_value_info": _REPORT,
    "EvalCaseResult.eval_set_file": _REPORT,
    "EvalSetResult.eval_set_result_id": _REPORT,
}


@cache
def read() -> frozenset[str]:
    """The names that the sources read of objects: as attributes, or as texts in `getattr` and in lists of names."""
    names: set[str] = set()
    for package in (newel, newel_kernel):
        for path in Path(str(package.__file__)).parent.rglob("*.py"):
            for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load):
                    names.add(one.attr)
                elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.isidentifier():
                    names.add(one.value)
    return frozenset(names)


def classes() -> Iterator[type[BaseModel]]:
    """The pydantic classes of the rooms, each once."""
    seen: set[type[BaseModel]] = set()
    for room in ROOMS:
        package = importlib.import_module(f"newel.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                module = importlib.import_module(info.name)
            except ImportError:  # of an optional SDK
                continue
            for _, one in inspect.getmembers(module, inspect.isclass):
                if issubclass(one, BaseModel) and one.__module__ == module.__name__ and one not in seen:
                    seen.add(one)
                    yield one


def own_fields(one: type[BaseModel]) -> list[str]:
    return [name for name in one.__annotations__ if name in one.model_fields]


@pytest.mark.parametrize("room", ROOMS)
def test_every_field_is_read(room: str) -> None:
    unread = [
        f"{one.__module__}.{one.__qualname__}.{name}"
        for one in classes()
        if one.__module__.split(".")[1] == room
        for name in own_fields(one)
        if name not in read() and f"{one.__qualname__}.{name}" not in FOR_OTHERS
    ]
    assert unread == []


#: Arguments that constructors take for others' sake, each with why.
FOR_CALLERS = {
    "RestApiTool.should_parse_operation": "the operation is read when it is first needed",
    "CountEvaluator.eval_metric": "every metric's class takes it",
    "ResponseHeaders.options": "every layer of the server takes them",
}


def unread_arguments(one: type[Any]) -> list[str]:
    """The arguments of the class's own constructor that its code never reads."""
    try:
        function = ast.parse(textwrap.dedent(inspect.getsource(vars(one)["__init__"]))).body[0]
    except (KeyError, TypeError, OSError):  # none of its own, or one that was generated
        return []
    assert isinstance(function, ast.FunctionDef)
    if isinstance(function.body[-1], ast.Raise):
        return []
    read = {name.id for line in function.body for name in ast.walk(line) if isinstance(name, ast.Name)}
    given = [*function.args.posonlyargs, *function.args.args[1:], *function.args.kwonlyargs]
    return [f"{one.__qualname__}.{argument.arg}" for argument in given if argument.arg not in read]


def test_every_argument_of_a_constructor_is_read() -> None:
    seen: set[type[Any]] = set()
    for package in (newel, newel_kernel):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                module = importlib.import_module(info.name)
            except ImportError:  # of an optional SDK
                continue
            classes_of = [one for _, one in inspect.getmembers(module, inspect.isclass)]
            seen |= {one for one in classes_of if one.__module__ == module.__name__}
    assert len(seen) > 1000
    assert {name for one in seen for name in unread_arguments(one)} == FOR_CALLERS.keys()


def test_an_argument_that_nobody_reads_is_found() -> None:
    class Careless:
        def __init__(self, read: int, *, unread: int = 0) -> None:
            self.read = read

    assert unread_arguments(Careless) == [f"{Careless.__qualname__}.unread"]


def test_a_field_that_nobody_reads_is_found() -> None:
    name = "a_setting_that_has_no_reader"[::-1][::-1] + "_x"
    assert name not in read()
    assert {"max_iterations", "support_cfc", "auth_config", "max_steps"} <= read()


def test_the_exceptions_exist_and_are_needed() -> None:
    fields = {f"{one.__qualname__}.{name}" for one in classes() for name in own_fields(one)}
    assert FOR_OTHERS.keys() <= fields
