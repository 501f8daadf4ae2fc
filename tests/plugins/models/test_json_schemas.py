"""JSON schemas from either dialect."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from newel import types
from newel.models.json_schemas import Schema, allows_null, json_schema, nullable, referred


class Place(BaseModel):
    city: str
    parent: Place | None = None


def test_gemini_schemas_become_draft_2020_12() -> None:
    schema = types.Schema.model_validate(
        {
            "type": "OBJECT",
            "properties": {
                "tags": {"type": "ARRAY", "items": {"type": "STRING"}, "min_items": 1},
                "key": {"any_of": [{"type": "STRING"}, {"type": "INTEGER"}]},
                "note": {"type": "STRING", "nullable": True, "description": "A note."},
            },
            "required": ["key"],
            "property_ordering": ["key", "tags"],
        }
    )
    made = json_schema(schema)
    assert made == {
        "type": "object",
        "properties": {
            "key": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "note": {"type": ["string", "null"], "description": "A note."},
        },
        "required": ["key"],
    }
    assert list(made["properties"]) == ["key", "tags", "note"]


def test_properties_may_be_called_like_keywords() -> None:
    names = ("type", "any_of", "min_items", "nullable", "ref", "definitions", "property_ordering")
    made = json_schema({"type": "OBJECT", "properties": {name: {"type": "STRING"} for name in names}})
    assert made["properties"] == {name: {"type": "string"} for name in names}


@pytest.mark.parametrize("key", ["defs", "definitions", "$defs"])
def test_references_follow_their_definitions(key: str) -> None:
    made = json_schema({"properties": {"a": {"$ref": f"#/{key}/A"}}, key: {"A": {"type": "STRING"}}})
    assert made == {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}
    assert referred(made["properties"]["a"], made) == {"type": "string"}


def test_classes_and_types_have_a_schema() -> None:
    assert json_schema(list[int]) == {"type": "array", "items": {"type": "integer"}}
    made = json_schema(Place)
    Draft202012Validator.check_schema(made)
    assert referred(made, made)["properties"]["city"]["type"] == "string"
    assert json_schema(None) == {}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": ["string", "integer"]},
        {"type": "string", "enum": ["a", "b"]},
        {"const": "a", "type": "string", "description": "An a."},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"$ref": "#/$defs/A", "description": "An A."},
        {},
    ],
)
def test_null_fits_a_nullable_schema_and_nothing_else_changes(schema: Schema) -> None:
    root = {"$defs": {"A": {"type": "string"}}}
    before, after = Draft202012Validator({**root, **schema}), Draft202012Validator({**root, **nullable(schema)})
    assert after.is_valid(None)
    assert allows_null(nullable(schema)) or not schema
    for value in ("a", "z", 1, [], {}):
        assert before.is_valid(value) == after.is_valid(value)
    assert nullable(nullable(schema)) == nullable(schema)
    assert nullable(schema).get("description") == schema.get("description")


def test_exclusive_bounds_of_older_drafts_are_numbers() -> None:
    schema = {"type": "number", "minimum": 1, "exclusiveMinimum": True, "maximum": 2, "exclusiveMaximum": False}
    assert json_schema(schema) == {"type": "number", "exclusiveMinimum": 1, "maximum": 2}
    assert json_schema({"exclusiveMaximum": True}) == {}
