"""Values for a JSON schema: what a client that knows no more than the schema may send."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

Schema = dict[str, Any]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
#: How deep objects nest before what is optional is left out.
_DEEP = 3


class Values:
    """Makes strategies of the schemas of one document."""

    def __init__(self, document: Schema) -> None:
        self._document = document

    def of(self, schema: Schema, depth: int = 0) -> st.SearchStrategy[Any]:
        """The values that fit `schema`."""
        return st.one_of([self._plain(one, depth) for one in self._alternatives(schema)])

    def whole(self, schema: Any, seen: tuple[str, ...] = ()) -> Any:
        """A schema with what it refers to."""
        if isinstance(schema, list):
            return [self.whole(one, seen) for one in schema]
        if not isinstance(schema, dict):
            return schema
        own = {name: self.whole(value, seen) for name, value in schema.items()}
        if (ref := schema.get("$ref")) is None or ref in seen:
            return own
        return {**own, "is": self.whole(self._resolved({"$ref": ref}), (*seen, ref))}

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            found: Any = self._document
            for name in schema["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            schema = {**found, **{name: value for name, value in schema.items() if name != "$ref"}}
        return schema

    def _alternatives(self, schema: Schema) -> list[Schema]:
        """Schemas without references and combinations, one of which a value fits."""
        schema = self._resolved(schema)
        found = [{name: value for name, value in schema.items() if name not in ("anyOf", "oneOf", "allOf")}]
        for every in schema.get("allOf", ()):
            found = [_both(one, other) for one in found for other in self._alternatives(every)]
        choices = schema.get("anyOf", []) + schema.get("oneOf", [])
        if choices:
            choices = [other for choice in choices for other in self._alternatives(choice)]
            found = [_both(one, other) for one in found for other in choices]
        return found

    def _plain(self, schema: Schema, depth: int) -> st.SearchStrategy[Any]:
        if "not" in schema:
            rest = {name: value for name, value in schema.items() if name != "not"}
            barred = Draft202012Validator(schema["not"])
            return self._plain(rest, depth).filter(lambda value: not barred.is_valid(value))
        if "const" in schema or "enum" in schema:
            return st.sampled_from([schema["const"]] if "const" in schema else schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            items = self.of(schema.get("items", {}), depth + 1)
            return st.lists(items, min_size=schema.get("minItems", 0), max_size=2, unique=False)
        if kind == "string":
            return _text(schema)
        if kind in ("integer", "number"):
            return st.integers(schema.get("minimum", schema.get("exclusiveMinimum", 0)), schema.get("maximum", 1000))
        return {"boolean": st.booleans(), "null": st.none()}.get(kind, JSON)

    def _object(self, schema: Schema, depth: int) -> st.SearchStrategy[Any]:
        fields, needed = schema.get("properties", {}), schema.get("required", ())
        known = st.fixed_dictionaries(
            {name: st.deferred(lambda name=name: self.of(fields[name], depth + 1)) for name in needed},
            optional={
                name: st.deferred(lambda one=one: self.of(one, depth + 1))
                for name, one in fields.items()
                if name not in needed and depth < _DEEP
            },
        )
        more = schema.get("additionalProperties", True)
        if more is False or fields:
            return known
        names = _text(schema["propertyNames"]) if "propertyNames" in schema else TEXTS
        return st.dictionaries(names, JSON if more is True else self.of(more, depth + 1), max_size=2)


def _text(schema: Schema) -> st.SearchStrategy[str]:
    if "pattern" in schema:
        pattern = schema["pattern"].removesuffix("$") + r"\Z"  # `$` of Python is also before a last newline
        return st.from_regex(pattern, alphabet=st.characters(codec="utf-8")).filter(lambda one: len(one) < 60)
    return st.text(st.characters(codec="utf-8"), min_size=schema.get("minLength", 0), max_size=8)


def _both(one: Schema, other: Schema) -> Schema:
    """A schema for what fits both."""
    fields = dict(one.get("properties", {}))
    for name, field in other.get("properties", {}).items():
        fields[name] = {"allOf": [fields[name], field]} if name in fields and fields[name] != field else field
    needed = [*one.get("required", ()), *other.get("required", ())]
    return {**one, **other, **({"properties": fields} if fields else {}), **({"required": needed} if needed else {})}
