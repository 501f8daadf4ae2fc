"""Tests of promptfoo, from a configuration, a list of tests, JSON lines or a CSV table."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from newel.evaluation import EvalCase
from newel_importers.assertions import expect
from newel_importers.documents import Ids, case, data_of, is_document, lines_of, peek, text_of, turn
from newel_importers.expectations import Expectations
from newel_kernel import ConfigurationError

_VARIABLE = re.compile(r"\{\{-?\s*([\w.]+)\s*-?\}\}")
#: What a template has in addition to variables: filters, conditions, loops.
_LOGIC = re.compile(r"\{%|\{\{[^}]*[|(]")
_EXPECTED = re.compile(r"__expected\d*")


def reads(name: str, text: str) -> bool:
    """Whether the file has promptfoo tests: objects with `vars` or `assert`, or a column `__expected`."""
    lower = name.lower()
    if lower.endswith(".csv"):
        return "__expected" in text.partition("\n")[0]
    if lower.endswith(".jsonl"):
        try:
            return _is_test(json.loads(text.lstrip().partition("\n")[0]))
        except ValueError:
            return False
    if not is_document(name) or not ("vars" in text or "assert" in text):
        return False
    data = peek(name, text)
    tests = data.get("tests") if isinstance(data, dict) else data
    return isinstance(tests, list) and any(_is_test(one) for one in tests)


def cases(name: str, text: str) -> Iterator[EvalCase]:
    """A case for each combination of a test, a prompt and the values of list variables."""
    config = _config(name, text)
    prompts: list[str | None] = [_prompt(one, name) for one in config.get("prompts") or ()]
    prompts = prompts or [None]
    usual = config.get("defaultTest") or {}
    if not isinstance(usual, dict):
        raise ConfigurationError(f"{name}: defaultTest must be an object; copy what is in another file into this one")
    ids, number = Ids(), 0
    for test in config["tests"]:
        if not isinstance(test, dict):
            raise ConfigurationError(f"{name}: a test is an object, not {test!r}; give the file that it names to newel")
        for variables in _each({**(usual.get("vars") or {}), **(test.get("vars") or {})}, name):
            for prompt in prompts:
                number += 1
                yield _case(name, ids, number, prompt, variables, test, usual)


def _case(
    name: str,
    ids: Ids,
    number: int,
    prompt: str | None,
    variables: Mapping[str, Any],
    test: Mapping[str, Any],
    usual: Mapping[str, Any],
) -> EvalCase:
    expectations = Expectations()
    missing: list[str] = []
    reference = None
    for one in [*(usual.get("assert") or ()), *(test.get("assert") or ())]:
        if not isinstance(one, dict) or "type" not in one:
            raise ConfigurationError(f"{name}: an assertion is an object with a `type`, not {one!r}")
        value = _filled(one.get("value"), variables, missing)
        if not expect(expectations, str(one["type"]), value, one.get("threshold")):
            missing.append(f"the assertion {one['type']}")
        if one["type"] in ("factuality", "model-graded-factuality", "rouge-n", "equals"):
            reference = reference or (text_of(value) if value is not None else None)
    message = _filled(prompt, variables, missing) if prompt is not None else _message_of(variables)
    source = {"file": name, "format": "promptfoo", "vars": dict(variables), "metadata": test.get("metadata")}
    turns = [turn(text_of(message), reference)]
    return case(ids.new(test.get("description"), number), turns, expectations.criteria, missing, source)


def _config(name: str, text: str) -> Mapping[str, Any]:
    if name.lower().endswith(".csv"):
        return {"tests": [_of_row(row) for row in csv.DictReader(io.StringIO(text))]}
    if name.lower().endswith(".jsonl"):
        return {"tests": [data for _, data in lines_of(name, text)]}
    data = data_of(name, text)
    return data if isinstance(data, dict) else {"tests": data}


def _of_row(row: Mapping[str | None, Any]) -> dict[str, Any]:
    """The test in a row; columns that begin with two underscores are promptfoo's own."""
    variables = {key: value for key, value in row.items() if key is not None and not key.startswith("__")}
    expected = [value for key, value in row.items() if key and _EXPECTED.fullmatch(key) and value]
    test: dict[str, Any] = {"vars": variables, "assert": [_short(value) for value in expected]}
    if row.get("__description"):
        test["description"] = row["__description"]
    return test


def _short(text: str) -> dict[str, Any]:
    """The assertion in a cell: ``type:value``, ``type(threshold):value``, or the answer itself."""
    match = re.fullmatch(r"((?:not-)?[a-z][a-z-]*)(?:\(([\d.]+)\))?:\s*(.*)", text, re.DOTALL)
    if match is None:
        return {"type": "equals", "value": text}
    kind = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}.get(match[1], match[1])
    values = [one.strip() for one in match[3].split(",")] if kind.endswith(("-any", "-all")) else match[3]
    return {"type": kind, "value": values, "threshold": float(match[2]) if match[2] else None}


def _is_test(one: Any) -> bool:
    return isinstance(one, dict) and ("vars" in one or "assert" in one)


def _prompt(one: Any, name: str) -> str:
    text = one.get("raw", one.get("content", one.get("id"))) if isinstance(one, dict) else one
    if not isinstance(text, str):
        raise ConfigurationError(f"{name}: a prompt is a text, not {one!r}")
    if text.startswith("file://") or re.fullmatch(r"\S+\.(?:txt|json|ya?ml|py|js|md|csv)(?::\w+)?", text):
        raise ConfigurationError(f"{name}: the prompt {text!r} is in a file of its own; put its text into `prompts`")
    return text


def _each(variables: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The variables, once for each combination of the values of list variables."""
    for key, value in variables.items():
        if isinstance(value, str) and value.startswith("file://"):
            raise ConfigurationError(f"{name}: the variable {key!r} is in the file {value}; put its value here")
    values = [value if isinstance(value, list) else [value] for value in variables.values()]
    for row in product(*values):
        yield dict(zip(variables, row, strict=True))


def _filled(value: Any, variables: Mapping[str, Any], missing: list[str]) -> Any:
    """A template with its variables filled in; other template syntax is added to `missing`."""
    if isinstance(value, list):
        return [_filled(one, variables, missing) for one in value]
    if not isinstance(value, str):
        return value
    if _LOGIC.search(value):
        missing.append("filters and conditions in templates")
    return _VARIABLE.sub(lambda match: text_of(_of(match[1], variables, match[0])), value)


def _of(path: str, variables: Mapping[str, Any], otherwise: str) -> Any:
    value: Any = variables
    for step in path.split("."):
        if not isinstance(value, dict) or step not in value:
            return otherwise
        value = value[step]
    return value


def _message_of(variables: Mapping[str, Any]) -> str:
    """The message if there is no prompt: the one variable, or all of them as JSON."""
    return text_of(next(iter(variables.values())) if len(variables) == 1 else dict(variables))
