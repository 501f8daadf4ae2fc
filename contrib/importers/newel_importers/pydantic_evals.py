"""Datasets of pydantic-evals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from newel.evaluation import EvalCase
from newel_importers.documents import Ids, case, data_of, is_document, peek, text_of, turn
from newel_importers.expectations import Expectations
from newel_kernel import ConfigurationError


def reads(name: str, text: str) -> bool:
    """Whether it is a dataset: an object with `cases` that have `inputs`."""
    if not is_document(name) or "inputs" not in text:
        return False
    data = peek(name, text)
    entries = data.get("cases") if isinstance(data, dict) else None
    return isinstance(entries, list) and any(isinstance(one, dict) and "inputs" in one for one in entries)


def cases(name: str, text: str) -> Iterator[EvalCase]:
    """The cases of a dataset."""
    data = data_of(name, text)
    ids = Ids()
    for number, one in enumerate(data["cases"], 1):
        if not isinstance(one, dict) or "inputs" not in one:
            raise ConfigurationError(f"{name}: cases.{number - 1} has no `inputs`")
        expectations, missing = Expectations(), []
        for spec in [*(data.get("evaluators") or ()), *(one.get("evaluators") or ())]:
            kind, options = _spec(spec, f"{name}: cases.{number - 1}")
            if not _expect(expectations, kind, options, one):
                missing.append(f"the evaluator {kind}")
        source = {"file": name, "format": "pydantic-evals", "metadata": one.get("metadata")}
        turns = [turn(text_of(one["inputs"]), one.get("expected_output"))]
        yield case(ids.new(one.get("name"), number), turns, expectations.criteria, missing, source)


def _spec(spec: Any, where: str) -> tuple[str, Any]:
    """Name and arguments: ``Name``, ``{Name: first}`` or ``{Name: {key: value}}``."""
    if isinstance(spec, str):
        return spec, {}
    if isinstance(spec, dict) and len(spec) == 1:
        return next(iter(spec.items()))
    raise ConfigurationError(f"{where}: an evaluator is a name, or an object with one name, not {spec!r}")


def _expect(expectations: Expectations, kind: str, options: Any, one: Mapping[str, Any]) -> bool:
    if kind == "EqualsExpected":
        expected = one.get("expected_output")
        # Without an expected output it requires nothing.
        return expected is None or expectations.metric("equals", {"value": text_of(expected)})
    if kind == "Equals":
        return expectations.metric("equals", {"value": text_of(_first(options, "value"))})
    if kind == "Contains":
        value = _first(options, "value")
        if isinstance(value, (dict, list)):
            return False
        if isinstance(options, dict) and not options.get("case_sensitive", True):
            expectations.one_of([text_of(value)], ignore_case=True)
        else:
            expectations.contains(text_of(value))
        return True
    if kind == "IsInstance":
        return bool(_first(options, "type_name") == "str")  # an agent's answer is always a str
    return _judged(expectations, kind, options)


def _judged(expectations: Expectations, kind: str, options: Any) -> bool:
    if kind == "MaxDuration":
        seconds = _first(options, "seconds")
        return isinstance(seconds, (int, float)) and expectations.metric("max_seconds", float(seconds))
    if kind in ("LLMJudge", "GEval"):
        model = options.get("model") if isinstance(options, dict) else None
        expectations.rubric(text_of(_first(options, "rubric" if kind == "LLMJudge" else "criteria")), model)
        return True
    return False


def _first(options: Any, key: str) -> Any:
    return options.get(key) if isinstance(options, dict) and key in options else options
