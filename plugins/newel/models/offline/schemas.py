"""The least value that fits a JSON schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from newel.models.json_schemas import SPELLING, Schema
from newel.models.offline.patterns import text_matching

_FORMATS = {
    "date": "2024-01-01",
    "date-time": "2024-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "user@example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
    "byte": "",
    "binary": "",
    "json-string": "{}",
}
#: A schema that requires itself has no finite value; beyond this depth None stands in for one.
_DEPTH = 12


def settled(schema: Any, root: Schema, depth: int = 0) -> Schema:
    """`schema` with its ``$ref`` followed and its ``allOf`` merged; ``anyOf`` is left undecided."""
    seen: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(ref := schema.get("$ref"), str) and ref not in seen:
        seen.add(ref)
        target = _pointed(ref, root)
        schema = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}
    if not isinstance(schema, Mapping):
        return {}
    if "allOf" not in schema or depth > _DEPTH:
        return dict(schema)
    merged: Schema = {k: v for k, v in schema.items() if k != "allOf"}
    for part in schema["allOf"]:
        inner = settled(part, root, depth + 1)
        merged["properties"] = {**merged.get("properties", {}), **inner.get("properties", {})}
        merged["required"] = [*merged.get("required", ()), *inner.get("required", ())]
        merged = {**inner, **{k: v for k, v in merged.items() if v}}
    return merged


def _pointed(ref: str, root: Schema) -> Schema:
    place: Any = root
    for step in ref.removeprefix("#").strip("/").split("/"):
        key = SPELLING.get(step, step).replace("~1", "/").replace("~0", "~")
        place = place.get(key, {}) if isinstance(place, Mapping) else {}
    if isinstance(place, Mapping) and place:
        return dict(place)
    # A bare name, as the service's dialect writes it.
    return dict(root.get("$defs", {}).get(ref.rpartition("/")[2], {}))


def options(schema: Schema) -> list[Any]:
    """The branches of ``anyOf`` or ``oneOf`` except null, each with the keywords next to the branches."""
    branches = schema.get("anyOf") or schema.get("oneOf") or ()
    beside = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf", "default")}
    return [{**beside, **b} for b in branches if isinstance(b, Mapping) and b.get("type") != "null"]


def kind(schema: Schema) -> str:
    """The type of a settled schema, guessed from its keywords if it names none; empty if it says nothing."""
    named = schema.get("type")
    if isinstance(named, list):
        named = next((t for t in named if t != "null"), "null")
    if isinstance(named, str) and named != "type_unspecified":
        return named
    if "properties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return ""


def sample(schema: Any, root: Schema | None = None, depth: int = 0) -> Any:
    """The least value that fits `schema`: a default or an example if it has one, required properties only."""
    root = root if root is not None else (schema if isinstance(schema, dict) else {})
    schema = settled(schema, root)
    if (named_value := _named_value(schema)) is not None:
        return named_value
    if depth > _DEPTH:
        return None
    if branches := options(schema):
        return sample(branches[0], root, depth + 1)
    type_name = kind(schema)
    if type_name == "object":
        properties = schema.get("properties", {})
        return {name: sample(properties.get(name, {}), root, depth + 1) for name in schema.get("required", ())}
    if type_name == "array":
        return _array(schema, root, depth)
    if type_name in ("integer", "number"):
        return _number(schema, whole=type_name == "integer")
    if type_name in ("boolean", "null"):
        return False if type_name == "boolean" else None
    return _text(schema)


def _named_value(schema: Schema) -> Any:
    """A value that the schema itself names, or None."""
    for key in ("const", "default", "example"):
        if schema.get(key) is not None:
            return schema[key]
    for key in ("enum", "examples"):
        if isinstance(listed := schema.get(key), list) and listed:
            return listed[0]
    return None


def _array(schema: Schema, root: Schema, depth: int) -> list[Any]:
    items = [sample(item, root, depth + 1) for item in schema.get("prefixItems", ())]
    least = int(schema.get("minItems") or 0)
    item = schema.get("items")
    while len(items) < least:
        value = sample(item if isinstance(item, dict) else {}, root, depth + 1)
        if schema.get("uniqueItems") and value in items:
            value = _other(value, item, items)
        items.append(value)
    return items


def _other(value: Any, item: Any, others: list[Any]) -> Any:
    """A value of the same kind that is not one of `others`, if one is easy to find."""
    listed = item.get("enum", ()) if isinstance(item, dict) else ()
    for other in listed:
        if other not in others:
            return other
    if isinstance(value, str):
        return f"{value}{len(others)}"
    return value + len(others) if isinstance(value, (int, float)) else value


def _number(schema: Schema, whole: bool) -> int | float:
    low, high = schema.get("minimum"), schema.get("maximum")
    below, above = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    step = schema.get("multipleOf")
    value: float = 0
    if low is not None and value < low:
        value = low
    if below is not None and value <= below:
        value = math.floor(below) + 1
        if not whole and (limit := high if high is not None else above) is not None and value >= limit:
            value = (below + limit) / 2
    if high is not None and value > high:
        value = high
    if above is not None and value >= above:
        value = math.ceil(above) - 1
    if step:
        value = math.ceil(value / step) * step
    return math.ceil(value) if whole or float(value).is_integer() else value


def _text(schema: Schema) -> str:
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and (match := text_matching(pattern)) is not None:
        return match
    text = _FORMATS.get(str(schema.get("format")), "example")
    least, most = schema.get("minLength"), schema.get("maxLength")
    if least is not None and len(text) < int(least):
        text = (text or "x") + "x" * (int(least) - len(text or "x"))
    return text[: int(most)] if most is not None else text
