"""JSON schemas as plain dicts of draft 2020-12, from whatever a request holds: a Schema, a dict, a class or a type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, TypeAdapter

Schema: TypeAlias = dict[str, Any]

#: Keywords that Gemini's dialect spells differently; `definitions` is the spelling of older drafts.
SPELLING = {
    "any_of": "anyOf",
    "one_of": "oneOf",
    "all_of": "allOf",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "additional_properties": "additionalProperties",
    "property_ordering": "propertyOrdering",
    "prefix_items": "prefixItems",
    "defs": "$defs",
    "ref": "$ref",
    "definitions": "$defs",
}
_BY_NAME = frozenset(("properties", "$defs", "patternProperties"))
_LISTS = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_SINGLE = frozenset(("items", "additionalProperties", "not"))
#: Keywords that annotate a schema: they stay next to an ``anyOf`` that is put around it.
_ANNOTATIONS = ("title", "description", "default", "deprecated", "examples")


def json_schema(value: Any) -> Schema:
    """`value` (None, a dict of either dialect, a Schema, a pydantic class or any type) as a JSON schema.

    Types are lower case, ``nullable`` is a type or a branch null. A property may have the name of a keyword.
    """
    if value is None or isinstance(value, bool):  # JSON schema's "anything"
        return {}
    if isinstance(value, Mapping):
        return _normal(value)
    if isinstance(value, type) and issubclass(value, BaseModel):
        return _normal(value.model_json_schema())
    if isinstance(value, BaseModel):
        return _normal(value.model_dump(by_alias=True, exclude_none=True))
    return _normal(TypeAdapter(value).json_schema())


def nullable(schema: Schema) -> Schema:
    """`schema`, which null fits as well."""
    if "type" in schema and "const" not in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        result = {**schema, "type": kinds if "null" in kinds else [*kinds, "null"]}
        if isinstance(listed := schema.get("enum"), list) and None not in listed:
            result["enum"] = [*listed, None]
        return result
    if "anyOf" in schema:
        branches = schema["anyOf"]
        return schema if {"type": "null"} in branches else {**schema, "anyOf": [*branches, {"type": "null"}]}
    if not schema:  # anything fits it, null too
        return schema
    beside = {key: schema[key] for key in _ANNOTATIONS if key in schema}
    inner = {key: value for key, value in schema.items() if key not in beside}
    return {"anyOf": [inner, {"type": "null"}], **beside}


def allows_null(schema: Schema) -> bool:
    """Whether null fits `schema`; references are not followed."""
    kinds = schema.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    branches = schema.get("anyOf") or schema.get("oneOf") or ()
    return any(isinstance(branch, dict) and allows_null(branch) for branch in branches)


def referred(schema: Schema, root: Schema) -> Schema:
    """`schema`, or the target of its reference into `root`; empty if the target does not exist."""
    seen: set[str] = set()
    while isinstance(ref := schema.get("$ref"), str) and ref not in seen:
        seen.add(ref)
        place: object = root
        for step in ref.removeprefix("#").strip("/").split("/"):
            if step:
                key = step.replace("~1", "/").replace("~0", "~")
                place = place.get(key) if isinstance(place, dict) else None
        schema = place if isinstance(place, dict) else {}
    return schema


def _normal(schema: Mapping[str, Any]) -> Schema:
    result: Schema = {}
    for name, value in schema.items():
        key = SPELLING.get(name, name)
        if key == "type":
            if kind := _type(value):
                result[key] = kind
        elif key in _BY_NAME and isinstance(value, Mapping):
            result[key] = {name: _child(child) for name, child in value.items()}
        elif key in _LISTS and isinstance(value, list):
            result[key] = [_child(child) for child in value]
        elif key in _SINGLE:
            result[key] = _child(value)
        elif key == "$ref" and isinstance(value, str):
            result[key] = _reference(value)
        else:
            result[key] = value
    _order(result)
    _bounds(result)
    if "example" in result:
        result.setdefault("examples", [result.pop("example")])
    return nullable(result) if result.pop("nullable", None) is True else result


def _child(value: Any) -> Any:
    return _normal(value) if isinstance(value, Mapping) else value


def _type(value: object) -> str | list[str]:
    if isinstance(value, (list, tuple)):
        return [str(one) for one in map(_type, value) if one]
    name = str(getattr(value, "value", value)).lower()
    return "" if name == "type_unspecified" else name


def _reference(ref: str) -> str:
    """A reference in the spelling used here; Gemini's dialect writes a bare name."""
    if not ref.startswith("#"):
        return ref if "/" in ref or ":" in ref else f"#/$defs/{ref}"
    for spelt in ("#/defs/", "#/definitions/"):
        ref = ref.replace(spelt, "#/$defs/", 1) if ref.startswith(spelt) else ref
    return ref


def _bounds(schema: Schema) -> None:
    """Turn bounds into numbers: older drafts say with a boolean that a bound itself does not fit."""
    for key, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(is_exclusive := schema.get(key), bool):
            del schema[key]
            if is_exclusive and bound in schema:
                schema[key] = schema.pop(bound)


def _order(schema: Schema) -> None:
    """Put the properties in the order that Gemini's dialect states separately."""
    order = schema.pop("propertyOrdering", None)
    properties = schema.get("properties")
    if isinstance(order, list) and isinstance(properties, dict):
        first = {name: properties[name] for name in order if name in properties}
        schema["properties"] = {**first, **properties}
