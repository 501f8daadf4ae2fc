"""Strict schemas: what strict mode takes, and the way back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from newel.models.json_schemas import Schema
from newel.models.openai.strict import inlined, parameters, relaxed_schema, strict_schema, without_nulls

STRING = {"type": "string"}

#: A loaded machine draws values slowly.
SLOW = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def closed(**properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def test_strict_schemas() -> None:
    schema: Schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "A city."},
            "days": {"type": "integer", "default": 3},
            "place": {"$ref": "#/$defs/Place", "description": "Where."},
            "kind": {"type": "string", "enum": ["a", "b"]},
        },
        "required": ["city"],
        "$defs": {"Place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
    }
    assert strict_schema(schema) == {
        **closed(
            city={"type": "string", "description": "A city."},
            days={"type": ["integer", "null"]},
            place={"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "description": "Where."},
            kind={"type": ["string", "null"], "enum": ["a", "b", None]},
        ),
        "$defs": {"Place": closed(x={"type": "number"})},
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"free": {"type": "object"}}},
        {"type": "object", "properties": {"free": {"type": "object", "additionalProperties": STRING}}},
        {"type": "object", "properties": {"any": {}}},
        {"type": "object", "properties": {"pair": {"type": "array", "prefixItems": [STRING]}}},
        {"type": "object", "properties": {"list": {"type": "array"}}},
        {"type": "object", "properties": {"short": {"type": "string", "maxLength": 3}}},
        {"type": "object", "properties": {"odd": {"type": "integer", "format": "int32"}}},
        {"type": "object", "properties": {"a": STRING}, "required": ["b"]},
        {"type": "object", "properties": {"a": {"allOf": [STRING, {"type": "integer"}]}}},
        {"type": "array", "items": STRING},
        {"anyOf": [{"type": "object", "properties": {}}]},
    ],
)
def test_what_strict_mode_cannot_say_is_not_strict(schema: Schema) -> None:
    assert strict_schema(schema) is None


def test_bounds_of_an_answer_go_into_descriptions() -> None:
    schema: Schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 9, "description": "A name."},
            "at": {"type": "string", "format": "x"},
        },
        "required": ["name", "at"],
    }
    made, moved = relaxed_schema(schema)
    assert made is not None
    assert made["properties"]["name"] == {
        "anyOf": [{"type": "string", "description": "maxLength: 9"}],
        "description": "A name.",
    }
    assert made["properties"]["at"] == {"type": "string", "description": "format: x"}
    assert moved == {"maxLength", "format"}


def test_a_reference_at_the_top_is_followed() -> None:
    node: Schema = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    made = strict_schema({"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    assert made is not None
    assert made["properties"]["next"] == {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}
    assert inlined({"type": "object"}) == {"type": "object"}


def test_parameters_are_an_object_whose_arrays_have_items() -> None:
    assert parameters({"type": "object", "properties": {"a": {"type": "array"}}})["properties"]["a"]["items"] == {}
    made = parameters({"anyOf": [closed(a=STRING, b=STRING), closed(a=STRING)]})
    assert made == {"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a"]}
    made = parameters({"allOf": [closed(a=STRING), closed(b=STRING)], "required": ["b"]})
    assert sorted(made["required"]) == ["a", "b"]


def test_nulls_of_optional_arguments_are_taken_out_again() -> None:
    inner: Schema = {"type": "object", "properties": {"x": STRING, "y": STRING}, "required": ["x"]}
    schema: Schema = {
        "type": "object",
        "properties": {
            "a": STRING,
            "b": STRING,
            "c": {"type": ["string", "null"]},
            "list": {"type": "array", "items": inner},
            "either": {"anyOf": [{"$ref": "#/$defs/I"}, {"type": "null"}]},
        },
        "required": ["a"],
        "$defs": {"I": inner},
    }
    args = {"a": None, "b": None, "c": None, "list": [{"x": "1", "y": None}], "either": {"x": "2", "y": None}}
    kept = {"a": None, "c": None, "list": [{"x": "1"}], "either": {"x": "2"}}
    assert without_nulls(args, schema, schema) == kept


_ENUM = {"type": "string", "enum": ["a"]}
_LEAVES = st.sampled_from([STRING, {"type": "integer"}, {"type": ["string", "null"]}, _ENUM])


def _objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    names = st.dictionaries(st.sampled_from(["a", "b", "type", "any_of"]), inner, min_size=1)
    return names.flatmap(
        lambda properties: st.sets(st.sampled_from(sorted(properties))).map(
            lambda needed: {"type": "object", "properties": properties, "required": sorted(needed)}
        )
    )


def _listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_SCHEMAS = _objects(st.recursive(_LEAVES, lambda inner: st.one_of(_objects(inner), inner.map(_listed)), max_leaves=6))


def _value(schema: Schema) -> Any:
    """A value of a strict schema with null wherever it may be."""
    kinds = schema.get("type")
    if "null" in (kinds if isinstance(kinds, list) else ()) or {"type": "null"} in schema.get("anyOf", ()):
        return None
    if kinds == "object":
        return {name: _value(inner) for name, inner in schema["properties"].items()}
    if kinds == "array":
        return [_value(schema["items"])]
    return schema["enum"][0] if "enum" in schema else 1 if kinds == "integer" else "a"


@SLOW
@given(_SCHEMAS)
def test_what_a_model_writes_in_strict_mode_fits_the_tool(schema: Schema) -> None:
    strict = strict_schema(schema)
    assert strict is not None
    value = _value(strict)
    assert Draft202012Validator(strict).is_valid(value)
    assert Draft202012Validator(schema).is_valid(without_nulls(value, schema, schema))
