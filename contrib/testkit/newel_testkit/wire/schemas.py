"""JSON schemas as the services judge them: what is valid, and what their strict modes refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NOT_IN_ANTHROPIC = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "oneOf",
    "not",
    "patternProperties",
)

_NOT_IN_OPENAI = (
    "allOf",
    "not",
    "oneOf",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "default",
    "patternProperties",
    "prefixItems",
)


class RefusedError(Exception):
    """The service would refuse the request, mostly with 400."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


def walk(schema: Any, path: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema, with its path."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        children = schema.get(key)
        for name, inner in (children if isinstance(children, dict) else {}).items():
            yield from walk(inner, f"{path}/{key}/{name}")
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        listed = schema.get(key)
        for index, inner in enumerate(listed if isinstance(listed, list) else ()):
            yield from walk(inner, f"{path}/{key}/{index}")
    for key in ("items", "additionalProperties", "not"):
        yield from walk(schema.get(key), f"{path}/{key}")


def check_valid(schema: Any, where: str, *, top_object: bool = True) -> None:
    """Refuse what is not a JSON schema of draft 2020-12."""
    if not isinstance(schema, dict):
        raise RefusedError(f"{where}: schema must be an object")
    if top_object and schema.get("type") != "object":
        raise RefusedError(f"{where}: schema must have type 'object', got {schema.get('type')!r}")
    for path, node in walk(schema):
        _check_types(node, where + path)
        _check_lists(node, where + path)
        if "$ref" in node and resolved(schema, node["$ref"]) is None:
            raise RefusedError(f"{where}{path}: cannot resolve {node['$ref']!r}")


def _check_types(node: dict[str, Any], where: str) -> None:
    kind = node.get("type")
    for one in kind if isinstance(kind, list) else [kind]:
        if one is not None and one not in _TYPES:
            raise RefusedError(f"{where}: {one!r} is not a type of JSON schema")
    for key in _NUMBERS:
        if key in node and (isinstance(node[key], bool) or not isinstance(node[key], (int, float))):
            raise RefusedError(f"{where}: {key} must be a number, got {node[key]!r}")
    for key in _COUNTS:
        if key in node and (isinstance(node[key], bool) or not isinstance(node[key], int)):
            raise RefusedError(f"{where}: {key} must be an integer, got {node[key]!r}")


def _check_lists(node: dict[str, Any], where: str) -> None:
    if "enum" in node and (not isinstance(node["enum"], list) or not node["enum"]):
        raise RefusedError(f"{where}: enum must be a non-empty array")
    required = node.get("required", [])
    if not (isinstance(required, list) and all(isinstance(name, str) for name in required)):
        raise RefusedError(f"{where}: required must be an array of strings")
    for key in ("anyOf", "oneOf", "allOf"):
        if key in node and (not isinstance(node[key], list) or not node[key]):
            raise RefusedError(f"{where}: {key} must be a non-empty array")
    if "pattern" in node:
        try:
            re.compile(node["pattern"])
        except re.error as error:
            raise RefusedError(f"{where}: pattern: {error}") from error


def check_strict_anthropic(schema: Any, where: str) -> None:
    """Refuse what Anthropic's output format does not support ("Structured outputs", "JSON Schema limitations")."""
    for path, node in walk(schema):
        for key in _NOT_IN_ANTHROPIC:
            if key in node:
                raise RefusedError(f"{where}{path}: output format does not support {key!r}")
        if node.get("minItems", 0) not in (0, 1):
            raise RefusedError(f"{where}{path}: output format supports minItems 0 and 1 only")
        if (node.get("type") == "object" or "properties" in node) and node.get("additionalProperties") is not False:
            raise RefusedError(f"{where}{path}: for 'object' type, 'additionalProperties' must be explicitly false")


def resolved(root: Any, ref: str) -> Any:
    """What a reference within a schema names; None if it names nothing."""
    node = root
    for step in ref.removeprefix("#").strip("/").split("/"):
        if step:
            node = node.get(step) if isinstance(node, dict) else None
    return node


def check_strict_openai(schema: Any, where: str) -> None:
    """Refuse what OpenAI's strict mode does not support ("Structured Outputs", "Supported schemas")."""
    if "anyOf" in schema:
        raise RefusedError(f"{where}: root must not be anyOf")
    for path, node in walk(schema):
        for key in _NOT_IN_OPENAI:
            if key in node:
                raise RefusedError(f"{where}{path}: in strict mode {key!r} is not permitted")
        kind = node.get("type")
        if kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in node:
            if node.get("additionalProperties") is not False:
                raise RefusedError(f"{where}{path}: 'additionalProperties' is required to be supplied and to be false")
            if missing := set(node.get("properties", {})) - set(node.get("required", [])):
                raise RefusedError(f"{where}{path}: 'required' must include every property; missing {sorted(missing)}")
        if "$ref" in node and len(node) > 1:
            raise RefusedError(f"{where}{path}: $ref cannot have other keywords")
        if not node.keys() & {"type", "$ref", "anyOf", "enum", "const"}:
            raise RefusedError(f"{where}{path}: schema must have a 'type' key")


_BY_NAME = ("properties", "$defs", "defs")
_WITHIN = ("items", "anyOf", "additionalProperties", "prefixItems")


def camel_schema(schema: Any) -> Any:
    """A schema of Gemini's own form with its keywords in camel case; names of properties are the user's."""
    if isinstance(schema, list):
        return [camel_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    new: dict[str, Any] = {}
    for key, inner in schema.items():
        name = re.sub(r"_([a-z])", lambda match: match[1].upper(), key)
        if name in _BY_NAME:
            new[name] = {own: camel_schema(one) for own, one in (inner or {}).items()}
        else:
            new[name] = camel_schema(inner) if name in _WITHIN else inner
    return new
