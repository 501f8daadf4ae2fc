"""Strict schemas: the JSON schemas that OpenAI's strict mode takes, and the nulls that it makes models write.

Source: the guide "Structured Outputs", section "Supported schemas".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from newel.models.json_schemas import Schema, allows_null, nullable, referred

_STRICT_KEYS = frozenset(
    (
        "type",
        "enum",
        "const",
        "description",
        "title",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    )
)
_NESTING_KEYS = frozenset(
    ("properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs")
)
#: Keywords that say nothing about which values fit.
_DROPPED = frozenset(
    ("default", "examples", "discriminator", "deprecated", "readOnly", "writeOnly", "$schema", "$id", "$comment")
)
_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
#: Bounds that a description can express as well.
_BOUNDS = frozenset(
    (
        "minLength",
        "maxLength",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "format",
        "contentEncoding",
        "contentMediaType",
    )
)
_DEPTH = 10


class _LooseError(ValueError):
    """Strict mode cannot express a schema."""


def strict_schema(schema: Schema) -> Schema | None:
    """`schema` in strict mode: objects closed, optional properties nullable; None if that is not possible."""
    try:
        return _Strict(bounds=None).root(schema)
    except _LooseError:
        return None


def relaxed_schema(schema: Schema) -> tuple[Schema | None, frozenset[str]]:
    """As `strict_schema`, but bounds that strict mode lacks go into descriptions; also returns the bounds' names."""
    bounds: set[str] = set()
    try:
        return _Strict(bounds).root(schema), frozenset(bounds)
    except _LooseError:
        return None, frozenset()


def parameters(schema: Schema) -> Schema:
    """`schema` as the parameters of a tool that is not strict: an object at the top, arrays that name their items."""
    root = inlined(schema)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(branches := root.get(key), list):
            root = _merged(root, key, [referred(b, schema) for b in branches if isinstance(b, dict)])
    root = {key: value for key, value in root.items() if key not in ("enum", "not")}
    result: Schema = _with_items({**root, "type": "object"})
    result.setdefault("properties", {})
    return result


def without_nulls(value: Any, schema: Schema, root: Schema) -> Any:
    """Arguments without the nulls that strict mode put in place of optional ones. `schema` is the original one."""
    schema = _fitting(value, referred(schema, root), root)
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        return [without_nulls(one, items, root) for one in value]
    properties = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, dict):
        return value
    required = schema.get("required") or ()
    result = {}
    for name, inner in value.items():
        about = properties.get(name)
        about = about if isinstance(about, dict) else {}
        if inner is None and name not in required and not allows_null(referred(about, root)):
            continue
        result[name] = without_nulls(inner, about, root)
    return result


def _fitting(value: Any, schema: Schema, root: Schema) -> Schema:
    """The branch of `schema` that `value` fits best; the schema itself if it has no branches."""
    branches = schema.get("anyOf") or schema.get("oneOf") or ()
    kind = "properties" if isinstance(value, dict) else "items"
    matches = [referred(branch, root) for branch in branches if isinstance(branch, dict)]
    matches = [branch for branch in matches if isinstance(branch.get(kind), dict)]
    if kind == "properties":
        matches.sort(key=lambda branch: -len(branch["properties"].keys() & value.keys()) if value else 0)
    return matches[0] if matches else schema


class _Strict:
    def __init__(self, bounds: set[str] | None) -> None:
        #: Collects the bounds that went into descriptions; None: a schema with such a bound is loose.
        self._bounds = bounds

    def root(self, schema: Schema) -> Schema:
        schema = inlined(schema)
        if schema.get("type") != "object":
            raise _LooseError
        return self._node(schema, 0)

    def _node(self, schema: Any, depth: int) -> Schema:
        if not isinstance(schema, dict) or depth > _DEPTH:
            raise _LooseError
        if isinstance(only := schema.get("allOf"), list):
            if len(only) != 1 or not isinstance(only[0], dict):
                raise _LooseError
            schema = {**only[0], **{key: value for key, value in schema.items() if key != "allOf"}}
        result: Schema = {}
        bounds: list[str] = []
        for key, value in schema.items():
            if key in _STRICT_KEYS or (key == "format" and value in _FORMATS):
                result[key] = value
            elif key == "format" or (key not in _NESTING_KEYS and key not in _DROPPED and not key.startswith("x-")):
                bounds.append(self._spoken_bound(key, value))
        self._build(result, schema, depth)
        if not result.keys() & {"type", "$ref", "anyOf", "enum", "const"}:
            raise _LooseError
        return _described(result, ", ".join(bounds)) if bounds else result

    def _spoken_bound(self, key: str, value: object) -> str:
        if self._bounds is None or key not in _BOUNDS:
            raise _LooseError
        self._bounds.add(key)
        return f"{key}: {value}"

    def _build(self, result: Schema, schema: Schema, depth: int) -> None:
        kinds = schema.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if "object" in kinds or "properties" in schema:
            self._object(result, schema, depth)
        if "array" in kinds or "items" in schema:
            result["items"] = self._node(schema.get("items"), depth + 1)
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches:
            result["anyOf"] = [self._node(branch, depth + 1) for branch in branches]
        if "$defs" in schema:
            result["$defs"] = {name: self._node(inner, 0) for name, inner in schema["$defs"].items()}
        if "$ref" in schema:
            if result:  # nothing may be next to a reference
                result["anyOf"] = [{"$ref": schema["$ref"]}]
            else:
                result["$ref"] = schema["$ref"]

    def _object(self, result: Schema, schema: Schema, depth: int) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or schema.get("additionalProperties") not in (None, False):
            raise _LooseError
        required = schema.get("required") or ()
        if set(required) - set(properties):
            raise _LooseError
        inner = {name: self._node(inner, depth + 1) for name, inner in properties.items()}
        result.setdefault("type", "object")
        result["properties"] = {name: one if name in required else nullable(one) for name, one in inner.items()}
        result["required"] = list(properties)
        result["additionalProperties"] = False


def _described(schema: Schema, bounds: str) -> Schema:
    """`schema` with its bounds in words; a description of its own is kept, around them."""
    if "description" not in schema:
        return {**schema, "description": bounds}
    inner = {key: value for key, value in schema.items() if key not in ("description", "title")}
    outer: Schema = {key: value for key, value in schema.items() if key in ("title", "description")}
    return {"anyOf": [{**inner, "description": bounds}], **outer}


def inlined(schema: Schema) -> Schema:
    """A schema whose top is a reference, with the target in its place."""
    if "$ref" not in schema:
        return schema
    return {**referred(schema, schema), **{key: value for key, value in schema.items() if key != "$ref"}}


def _merged(root: Schema, key: str, branches: Iterable[Schema]) -> Schema:
    """One object for branches, which a tool's schema may not have at its top."""
    branches = list(branches)
    properties: Schema = dict(root.get("properties") or {})
    for branch in branches:
        for name, inner in (branch.get("properties") or {}).items():
            properties.setdefault(name, inner)
    needed = [set(branch.get("required") or ()) for branch in branches]
    common = set().union(*needed) if key == "allOf" else set.intersection(*needed) if needed else set()
    rest = {name: value for name, value in root.items() if name != key}
    required = [name for name in properties if name in common or name in (root.get("required") or ())]
    return {**rest, "properties": properties, **({"required": required} if required else {})}


def _with_items(schema: Any) -> Any:
    """`schema` in which all arrays declare their items, if only as anything."""
    if not isinstance(schema, dict):  # true and false are schemas as well
        return schema
    result: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
            result[key] = {name: _with_items(inner) for name, inner in value.items()}
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems") and isinstance(value, list):
            result[key] = [_with_items(inner) for inner in value]
        elif key in ("items", "additionalProperties", "not"):
            result[key] = _with_items(value)
        else:
            result[key] = value
    kinds = schema.get("type")
    is_array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
    if is_array and not result.keys() & {"items", "prefixItems"}:
        result["items"] = {}
    return result
