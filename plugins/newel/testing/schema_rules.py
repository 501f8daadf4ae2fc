"""What a service refuses of the JSON schema of a function's parameters."""

from __future__ import annotations

from collections.abc import Iterator

from newel_kernel import Json

_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_NAMED = ("properties", "$defs", "patternProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not")


def bad_parameters(schema: object, path: str) -> Iterator[str]:
    """What is wrong with the `parametersJsonSchema` at `path`; nothing is fine."""
    if not isinstance(schema, dict):
        yield f"Invalid value at '{path}': a schema is an object, not {schema!r}"
    elif schema.get("type") != "object":
        yield f"Invalid value at '{path}.type': parameters schema should be of type object, not {schema.get('type')!r}"
    else:
        yield from _bad_schema(schema, path, schema)


def _bad_schema(schema: object, path: str, root: Json) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"Invalid value at '{path}': a schema is an object, not {schema!r}"
        return
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in _TYPES:
            yield f"Invalid value at '{path}.type': {kind!r}"
    if "$ref" in schema and not _is_there(schema["$ref"], root):
        yield f"Invalid value at '{path}.$ref': {schema['$ref']!r} is not defined"
    for name in schema.get("required", ()):
        if name not in schema.get("properties", {}):
            yield f"Invalid value at '{path}.required': property is not defined: {name!r}"
    if not schema.get("enum", [None]):
        yield f"Invalid value at '{path}.enum': must not be empty"
    for inner, where in _inside(schema, path):
        yield from _bad_schema(inner, where, root)


def _inside(schema: Json, path: str) -> Iterator[tuple[object, str]]:
    """The schemas directly within `schema`, each with its path."""
    for key in _NAMED:
        yield from ((inner, f"{path}.{key}[{name!r}]") for name, inner in schema.get(key, {}).items())
    for key in _LISTS:
        yield from ((inner, f"{path}.{key}[{index}]") for index, inner in enumerate(schema.get(key, ())))
    yield from ((schema[key], f"{path}.{key}") for key in _SINGLE if key in schema)


def _is_there(reference: object, root: Json) -> bool:
    at: object = root
    for step in str(reference).removeprefix("#").strip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if step and (not isinstance(at, dict) or key not in at):
            return False
        at = at[key] if step and isinstance(at, dict) else at
    return str(reference).startswith("#")
