"""Facts: what a schema says, the same in every dialect of schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from newel_testkit.wire.schemas import camel_schema, resolved, walk

#: A path within the values, a keyword, and the keyword's value.
Fact: TypeAlias = tuple[str, str, Any]

_SAME = (
    "description",
    "title",
    "default",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "const",
    "multipleOf",
)
_DEEPEST = 12


def facts_of(schema: Any, *, gemini: bool = False) -> frozenset[Fact]:
    """The facts of a JSON schema, or of one in Gemini's own form, where ``nullable`` has a meaning.

    ``nullable: true``, a list of types with null, and an anyOf with null say the same.
    """
    if gemini:
        schema = camel_schema(schema)
    own = gemini or any(isinstance(node.get("type"), str) and node["type"].isupper() for _, node in walk(schema))
    return frozenset(_Reader(schema, own).facts(schema, "", 0))


class _Reader:
    """Reads the schemas within one schema."""

    def __init__(self, root: Any, gemini: bool) -> None:
        self._root, self._gemini = root, gemini

    def facts(self, schema: Any, path: str, depth: int) -> Iterator[Fact]:
        """What `schema` says of the value at `path`."""
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return
        if "$ref" in schema:
            target = resolved(self._root, schema["$ref"])
            if not isinstance(target, dict):
                yield path, "unresolved", schema["$ref"]
            yield from self.facts(target, path, depth + 1)
            yield from ((path, key, _plain(schema[key])) for key in ("description", "default") if key in schema)
            return
        yield from self._kinds(schema, path, depth)
        for key in _SAME:
            if schema.get(key) is not None and not (key == "title" and path):
                yield path, key, _plain(schema[key])
        yield from ((path, "enum", _plain(value)) for value in schema.get("enum") or () if value is not None)
        yield from ((path, "required", name) for name in schema.get("required") or ())
        for inner, where in _inside(schema, path):
            yield from self.facts(inner, where, depth + 1)

    def _kinds(self, schema: dict[str, Any], path: str, depth: int) -> Iterator[Fact]:
        kinds = schema.get("type")
        kinds = [one for one in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(one, str)]
        branches = [one for key in ("anyOf", "oneOf") for one in schema.get(key) or ()]
        some = [one for one in branches if not (isinstance(one, dict) and one.get("type") == "null")]
        if (self._gemini and schema.get("nullable") is True) or "null" in kinds or len(some) < len(branches):
            yield path, "nullable", True
        for index, branch in enumerate(some):
            yield from self.facts(branch, path if len(some) == 1 else f"{path}|{index}", depth + 1)
        if not some:
            yield from ((path, "type", one.lower()) for one in kinds if one.lower() not in ("null", "type_unspecified"))


def _inside(schema: dict[str, Any], path: str) -> Iterator[tuple[Any, str]]:
    """The schemas within one, each with its path."""
    yield from ((inner, f"{path}.{name}") for name, inner in (schema.get("properties") or {}).items())
    if isinstance(schema.get("items"), dict):
        yield schema["items"], f"{path}[]"
    yield from ((inner, f"{path}[{index}]") for index, inner in enumerate(schema.get("prefixItems") or ()))
    if schema.get("additionalProperties"):
        yield schema["additionalProperties"], f"{path}.*"


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
