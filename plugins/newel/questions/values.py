"""Answers: the value that a user's function response stands for, checked by the question's schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

#: A JSON schema.
Schema: TypeAlias = Mapping[str, Any]
_TYPES: dict[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
#: How text spells a value of another type.
_SPELT: dict[str, Callable[[str], object]] = {
    "integer": int,
    "number": float,
    "boolean": json.loads,
    "null": json.loads,
}


def answer_value(question: str, response: Mapping[str, object], schema: Schema | None) -> object:
    """The answer in `response`: the value of its only entry `result` (text that is JSON is read as such), or all of it.

    Raises ValueError if `schema`, a JSON schema, does not allow it; text that spells a number or a boolean
    which the schema asks for is taken as that.
    """
    value: object = dict(response)
    if response.keys() == {"result"}:
        value = response["result"]
    if isinstance(value, str) and not (schema and schema.get("type") == "string"):
        value = _parsed(value)
    if schema is None:
        return value
    problems: list[str] = []
    fitted = _fitted(value, schema, schema, "the answer", problems)
    if problems:
        raise ValueError(f"the answer to {question!r} does not fit what was asked for: {'; '.join(problems)}")
    return fitted


def allows_null(schema: Schema | None) -> bool:
    """Whether a question whose answer must fit `schema` may be left without one."""
    if schema is None:
        return False
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if schema.get("nullable") or any(str(kind).lower() == "null" for kind in kinds):
        return True
    options = schema.get("anyOf") or schema.get("any_of") or schema.get("oneOf") or ()
    return any(isinstance(one, Mapping) and allows_null(one) for one in options)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _fitted(value: object, schema: Schema, root: Schema, where: str, problems: list[str]) -> object:
    """`value` as `schema` allows it; what it does not allow goes to `problems`."""
    schema = _resolved(schema, root)
    options = schema.get("anyOf") or schema.get("any_of") or schema.get("oneOf")
    if options:
        return _any_of(value, options, root, where, problems)
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else list(kind or ())
    kinds = [k.lower() for k in kinds] + (["null"] if schema.get("nullable") else [])
    if kinds and not any(_TYPES.get(k, bool)(value) for k in kinds):
        value = _read(value, kinds, where, problems)
    if "const" in schema and value != schema["const"]:
        problems.append(f"{where} is {value!r}, not {schema['const']!r}")
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        problems.append(f"{where} is {value!r}, not one of {allowed}")
    _check_bounds(value, schema, where, problems)
    if isinstance(value, dict) and schema.get("properties") is not None:
        return _object(value, schema, root, where, problems)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        items = schema["items"]
        return [_fitted(entry, items, root, f"{where}[{i}]", problems) for i, entry in enumerate(value)]
    return value


def _check_bounds(value: object, schema: Schema, where: str, problems: list[str]) -> None:
    low, high = schema.get("minimum"), schema.get("maximum")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    if isinstance(low, int | float) and not value >= low:  # "not a number" is neither
        problems.append(f"{where} is {value!r}, less than {low!r}")
    if isinstance(high, int | float) and not value <= high:
        problems.append(f"{where} is {value!r}, more than {high!r}")


def _resolved(schema: Schema, root: Schema) -> Schema:
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definition: Schema = root.get("$defs", {}).get(reference[len("#/$defs/") :], {})
        return definition
    return schema


def _any_of(value: object, options: list[Schema], root: Schema, where: str, problems: list[str]) -> object:
    for option in options:
        misfits: list[str] = []
        fitted = _fitted(value, option, root, where, misfits)
        if not misfits:
            return fitted
    problems.append(f"{where} is {value!r}, which fits none of the types that are allowed")
    return value


def _read(value: object, kinds: list[str], where: str, problems: list[str]) -> object:
    """What `value` spells, if it is the text of something of one of these types."""
    for kind in kinds:
        if isinstance(value, str) and kind in _SPELT:
            try:
                result = _SPELT[kind](value)
            except ValueError:
                continue
            if _TYPES[kind](result):
                return result
    problems.append(f"{where} is {value!r}, not of type {' or '.join(kinds)}")
    return value


def _object(
    value: dict[str, object], schema: Schema, root: Schema, where: str, problems: list[str]
) -> dict[str, object]:
    fitted = dict(value)
    for name in schema.get("required") or ():
        if name not in value:
            problems.append(f"{where} has no {name!r}")
    for name, property_schema in schema["properties"].items():
        if name in value:
            fitted[name] = _fitted(value[name], property_schema, root, f"{where}.{name}", problems)
        elif "default" in property_schema:
            fitted[name] = property_schema["default"]
    return fitted
