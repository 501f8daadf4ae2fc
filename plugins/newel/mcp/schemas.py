"""Schemas: JSON schemas of others, taken as they are if they are sound, within bounds and within themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from newel.mcp.texts import cleaned
from newel_kernel import Json

#: The most levels and the most characters (as JSON) of a schema.
MOST_DEPTH, MOST_SIZE = 48, 65_536
_TEXTS = ("description", "title", "$comment")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
#: Keywords with which a foreign schema could make the one who checks a value compute for ever.
_COSTLY = ("pattern", "patternProperties", "format")
#: Keywords whose keys are names, and keywords whose values are data.
_OF_NAMES = ("properties", "$defs", "definitions", "dependentSchemas")
_OF_DATA = ("enum", "const", "default", "examples", "required")


class SchemaError(ValueError):
    """The schema cannot be used; the message says why."""


def sound(schema: object) -> Json:
    """`schema` of a tool's arguments with its texts cleaned; raises SchemaError if it cannot be used."""
    if not isinstance(schema, Mapping):
        raise SchemaError(f"the schema is {type(schema).__name__}, not an object")
    if depth(schema, MOST_DEPTH) > MOST_DEPTH:
        raise SchemaError(f"the schema is nested more than {MOST_DEPTH} levels deep")
    if (size := len(json.dumps(schema, ensure_ascii=False))) > MOST_SIZE:
        raise SchemaError(f"the schema has {size} characters; at most {MOST_SIZE} are taken")
    for node in _nodes(schema):
        for keyword in _REFERENCES:
            if isinstance(reference := node.get(keyword), str):
                _check_reference(reference, schema)
    _check(schema)
    made: Json = _with_clean_texts(schema)
    if made.setdefault("type", "object") != "object":
        raise SchemaError(f"the arguments are of the type {made['type']!r}, not object")
    return made


def checked_cheaply(schema: Json) -> Json:
    """`schema` without the keywords whose check can take for ever."""
    made: Json = _cheap(schema)
    return made


def depth(value: object, most: int) -> int:
    """How deep containers are nested in `value`; counted up to `most` + 1."""
    level, here = 0, [value]
    while here and level <= most:
        level += 1
        here = [
            inner
            for one in here
            for inner in (one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ())
            if isinstance(inner, (Mapping, list))
        ]
    return level


def _nodes(value: object) -> Iterator[Mapping[str, Any]]:
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, Mapping):
            yield one
            todo += one.values()
        elif isinstance(one, list):
            todo += one


def _check_reference(reference: str, schema: Mapping[str, Any]) -> None:
    if not reference.startswith("#"):
        raise SchemaError(f"it refers to {cleaned(reference, 100)!r}, outside of itself")
    if not reference.startswith("#/"):
        return  # all of it, or an anchor
    here: Any = schema
    for part in reference[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, list) and key.isdecimal() and int(key) < len(here):
            here = here[int(key)]
        elif isinstance(here, Mapping) and key in here:
            here = here[key]
        else:
            raise SchemaError(f"it refers to {cleaned(reference, 100)!r}, which it does not have")


def _check(schema: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator, exceptions

    try:
        Draft202012Validator.check_schema(schema)
    except exceptions.SchemaError as error:
        raise SchemaError(f"it is not a JSON schema: {cleaned(error.message, 200)}") from None


def _with_clean_texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: cleaned(inner) if key in _TEXTS and isinstance(inner, str) else _with_clean_texts(inner)
            for key, inner in value.items()
        }
    return [_with_clean_texts(inner) for inner in value] if isinstance(value, list) else value


def _cheap(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_cheap(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept: Json = {}
    for key, inner in schema.items():
        if key in _COSTLY:
            continue
        if key in _OF_NAMES and isinstance(inner, Mapping):
            kept[key] = {name: _cheap(one) for name, one in inner.items()}
        else:
            kept[key] = inner if key in _OF_DATA else _cheap(inner)
    if "patternProperties" in schema:  # what it allows would count as additional
        kept.pop("additionalProperties", None)
    return kept
