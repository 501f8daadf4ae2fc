"""Schemas: a document's schemas as JSON Schema 2020-12, with each schema that they refer to once, in `$defs`.

Only what an operation reaches is looked at. A declaration for the model has a size: what does not fit into it is
left open there, while arguments are still validated against all of it.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from newel.openapi.document import Document
from newel.openapi.errors import DocumentError
from newel_kernel import Json

#: Keywords whose value is one schema, a list of schemas, or schemas by name.
_ONE = (
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
#: Of no use to a model: what only describes a document or a language's types.
_DROPPED = frozenset(
    {"$anchor", "$comment", "$id", "$schema", "deprecated", "discriminator"}
    | {"example", "examples", "externalDocs", "xml"}
)
_LEFT_OUT = object()
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_ESCAPED, _CLASS = re.compile(r"\\."), re.compile(r"\[[^\]]*\]")
_REPEATED, _GROUP_REPEATED = re.compile(r"(?<!\()[*+?{]"), re.compile(r"\)[*+?{]")
#: The deepest nesting of a schema without a reference in it.
_DEEPEST = 100


class Schemas:
    """The schemas of one document. What was read stays."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._definitions: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}
        #: Name -> the names that the definition refers to.
        self._next: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, str] = {}
        #: References whose whole reach is known to be sound.
        self._sound: set[str] = set()

    def check(self, schema: object, place: str) -> None:
        """Raise DocumentError if something that the schema reaches is missing, or is not a schema."""
        waiting, seen = list(self._references(schema, place)), set[str]()
        while waiting:
            reference = waiting.pop()
            if reference in seen or reference in self._sound:
                continue
            seen.add(reference)
            waiting += self._references(self._document.find(reference, place), f"{place}: {reference}")
        self._sound |= seen

    def _references(self, schema: object, place: str, depth: int = 0) -> Iterator[str]:
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise DocumentError(f"{place}: a schema must be a mapping, not {type(schema).__name__}")
        if depth > _DEEPEST:
            raise DocumentError(f"{place}: the schema is nested more deeply than {_DEEPEST} levels")
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
            if self._document.is_old:
                return
        for inner in _inner(schema):
            yield from self._references(inner, place, depth + 1)

    def converted(self, schema: Any) -> Any:
        """A schema as JSON Schema, with references into `$defs`."""
        if not isinstance(schema, dict):
            return True if schema is None else schema
        if isinstance(reference := schema.get("$ref"), str) and self._document.is_old:
            return {"$ref": f"#/$defs/{self._name(reference)}"}
        made = {str(key): self._keyword(key, value) for key, value in schema.items()}
        made = {key: value for key, value in made.items() if value is not _LEFT_OUT}
        if "patternProperties" in schema and "patternProperties" not in made:
            made.pop("additionalProperties", None)  # without the patterns nobody knows which ones are additional
        return _modern(made) if self._document.is_old else made

    def _keyword(self, key: str, value: Any) -> Any:
        """The value of a keyword as JSON Schema has it."""
        if key == "$ref":
            return f"#/$defs/{self._name(value)}" if isinstance(value, str) else _LEFT_OUT
        if key in _ONE and isinstance(value, dict):
            return self.converted(value)
        if key in _LIST and isinstance(value, list):
            return [self.converted(inner) for inner in value]
        if key == "patternProperties" and not _are_quick(value):
            return _LEFT_OUT
        if key in _NAMED and isinstance(value, dict):
            return {str(name): self.converted(inner) for name, inner in value.items()}
        return _LEFT_OUT if key in _DROPPED or str(key).startswith("x-") else value

    def whole(self, schema: Json) -> Json:
        """A converted schema with all that it reaches, to validate by."""
        return self._closed(schema, None)

    def declared(self, schema: Json, most: int) -> Json:
        """A converted schema with what it reaches, nearest first, in about `most` characters of JSON."""
        return self._closed(schema, most)

    def _closed(self, schema: Json, most: int | None) -> Json:
        definitions: Json = {}
        waiting, room = deque(_named(schema)), (most or 0) - len(json.dumps(schema, default=str))
        while waiting:
            name = waiting.popleft()
            if name in definitions:
                continue
            definition = self._definition(name)
            room -= self._sizes[name]
            if most is not None and room < 0:
                definitions[name] = _open(definition)
                continue
            definitions[name] = definition
            waiting.extend(self._next[name])
        return {**schema, "$defs": definitions} if definitions else schema

    def _definition(self, name: str) -> Any:
        if name not in self._definitions:
            self._definitions[name] = made = self.converted(self._document.find(self._names[name], "a schema"))
            self._next[name] = tuple(_named(made))
            self._sizes[name] = len(json.dumps(made, default=str)) + len(name) + 4
        return self._definitions[name]

    def _name(self, reference: str) -> str:
        """The name in `$defs` of what a reference stands for: its last step, unless another has that name."""
        for name in (found := _UNSAFE.sub("_", reference.rpartition("/")[2]) or "schema"), _UNSAFE.sub("_", reference):
            if self._names.setdefault(name, reference) == reference:
                return name
        number = 2
        while self._names.setdefault(f"{found}_{number}", reference) != reference:
            number += 1
        return f"{found}_{number}"


def is_quick(pattern: object) -> bool:
    """Whether a short text is matched at once: another pattern of a document may take hours, and hold up all runs."""
    if not isinstance(pattern, str) or len(pattern) > 1_000:
        return False
    plain = _CLASS.sub("x", _ESCAPED.sub("x", pattern))
    return not _GROUP_REPEATED.search(plain) and len(_REPEATED.findall(plain)) <= 3


def _are_quick(patterns: object) -> bool:
    return isinstance(patterns, dict) and all(map(is_quick, patterns))


def _inner(schema: Json) -> Iterator[object]:
    """The schemas in a schema."""
    for key, value in schema.items():
        if key in _ONE and isinstance(value, (dict, bool)):
            yield value
        elif key in _LIST and isinstance(value, list):
            yield from value
        elif key in _NAMED and isinstance(value, dict):
            yield from value.values()


def _named(schema: object) -> Iterator[str]:
    """The definitions that a converted schema refers to."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if isinstance(reference := one.get("$ref"), str):
                yield reference.removeprefix("#/$defs/")
            waiting += _inner(one)


def _open(definition: Any) -> Json:
    """A definition that there is no room for: its type and its description."""
    kept = {key: definition[key] for key in ("type", "description", "enum") if key in definition}
    if isinstance(text := kept.get("description"), str):
        kept["description"] = text[:120]
    return kept if len(json.dumps(kept, default=str)) < 400 else {"type": kept.get("type", "object")}


def _modern(schema: Json) -> Json:
    """A schema of OpenAPI 3.0 in today's keywords."""
    nullable = schema.pop("nullable", False) is True
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(flag := schema.get(exclusive), bool):
            del schema[exclusive]
            if flag and bound in schema:
                schema[exclusive] = schema.pop(bound)
    if not nullable:
        return schema
    if isinstance(kind := schema.get("type"), str):
        schema["type"] = [kind, "null"]
        if isinstance(values := schema.get("enum"), list) and None not in values:
            schema["enum"] = [*values, None]
        return schema
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema
