"""Calls compared: whether an actual tool call is the expected one, and if not, where they differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from newel.evaluation.kinds import ArgumentMatcher
from newel.evaluation.metrics.criteria import ArgumentMatch, ToolArguments, ToolTrajectoryCriterion
from newel.evaluation.plugins import plugin_registry
from newel_types import FunctionCall

#: Whether the actual arguments (second) match the expected ones (first).
Matches = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class CallRule:
    """How two calls are compared: by name, and by arguments as the criterion says for the tool."""

    arguments: ArgumentMatch = ArgumentMatch.EXACT
    tools: Mapping[str, ToolArguments] = field(default_factory=dict)

    @classmethod
    def of(cls, criterion: ToolTrajectoryCriterion | None) -> CallRule:
        """The rule of a criterion; without one everything must be equal."""
        if criterion is None:
            return cls()
        return cls(ArgumentMatch.IGNORE if criterion.ignore_args else criterion.arguments, criterion.tools)

    def equal(self, expected: FunctionCall, actual: FunctionCall) -> bool:
        """Whether the calls count as the same."""
        if expected.name != actual.name:
            return False
        if not self.tools and self.arguments is ArgumentMatch.EXACT:
            return bool((expected.args or {}) == (actual.args or {}))
        return self.difference(expected, actual) is None

    def difference(self, expected: FunctionCall, actual: FunctionCall) -> str | None:
        """The first difference in words, or None."""
        if expected.name != actual.name:
            return f"expected the tool {expected.name!r}, but {actual.name!r} was called"
        rule = self.tools.get(expected.name or "", ToolArguments(mode=self.arguments))
        if rule.mode is ArgumentMatch.IGNORE:
            return None
        return _arguments_differ(rule, expected.args, actual.args)


def _arguments_differ(rule: ToolArguments, expected: Any, actual: Any) -> str | None:
    if rule.matcher is not None:
        matches = plugin_registry().find(ArgumentMatcher, rule.matcher).matches
        ok = matches(expected or {}, actual or {})
        return None if ok else f"args: {rule.matcher} does not accept {actual!r} for {expected!r}"
    return next(_differences(rule, expected or {}, actual or {}), None)


def _differences(rule: ToolArguments, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[str]:
    keys = set(rule.keys) if rule.keys is not None else None
    names = [k for k in expected if keys is None or k in keys]
    present = [k for k in actual if keys is None or k in keys]
    for key in names:
        if key in actual:
            if not _values_equal(rule, key, expected[key], actual[key]):
                yield first_difference(expected[key], actual[key], f"args.{key}")
        elif rule.mode is not ArgumentMatch.SUBSET:
            yield f"args.{key}: expected {expected[key]!r}, but it was not given"
    if rule.mode is not ArgumentMatch.SUPERSET:
        yield from (f"args.{key}: not expected, but it was {actual[key]!r}" for key in present if key not in expected)


def _values_equal(rule: ToolArguments, key: str, expected: Any, actual: Any) -> bool:
    if key in rule.regex:
        return isinstance(actual, str) and re.fullmatch(rule.regex[key], actual) is not None
    if key in rule.tolerance and _number(expected) and _number(actual):
        return abs(float(expected) - float(actual)) <= rule.tolerance[key]
    return bool(expected == actual)


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def first_difference(expected: Any, actual: Any, path: str) -> str:
    """The first place where two JSON values differ: the path, the expected value, the actual value."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in [*expected, *(k for k in actual if k not in expected)]:
            if expected.get(key, _MISSING) != actual.get(key, _MISSING):
                return first_difference(expected.get(key, _MISSING), actual.get(key, _MISSING), f"{path}.{key}")
    if _listed(expected) and _listed(actual):
        for number, (one, other) in enumerate(zip(expected, actual, strict=False)):
            if one != other:
                return first_difference(one, other, f"{path}[{number}]")
        if len(expected) != len(actual):
            return f"{path}: expected {len(expected)} items, but there were {len(actual)}"
    return f"{path}: expected {expected!r}, but it was {actual!r}"


def _listed(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Missing()


def shown(call: FunctionCall) -> str:
    """A call as one would write it."""
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in (call.args or {}).items())})"
