"""Schemas: what a route takes and answers, as JSON Schema that says no more and no less than the validation does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from newel_kernel import Json
from newel_types import Record, WireEnum

COMPONENTS = "#/components/schemas/{model}"
_BASE64 = "^(?:[{0}]{{4}})*(?:[{0}][AQgw](?:==)?|[{0}]{{2}}[AEIMQUYcgkosw048]=?)?$"
#: The two alphabets of base64, with or without padding.
_BYTES = [{"pattern": _BASE64.format(alphabet)} for alphabet in ("A-Za-z0-9+/", "A-Za-z0-9_-")]


#: Marks the schema of a record until all are written.
_RECORD = "x-record"


class NeedsOne:
    """Annotates a type whose objects need one of the fields `names`, at least."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        own = handler(schema)
        fields = handler.resolve_ref_schema(own)["properties"]
        alternatives = [
            {"type": "object", "required": [name], "properties": {name: _without_null(fields[name])}}
            for name in map(to_camel, self._names)
        ]
        return {"allOf": [own], "anyOf": alternatives}

    def _checked(self, value: Any) -> Any:
        if all(getattr(value, name) is None for name in self._names):
            raise PydanticCustomError("missing", "needs {names}", {"names": " or ".join(map(to_camel, self._names))})
        return value


class Needs:
    """Annotates a type whose objects need the field `name`, a text or a list that is not empty."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        own, name = handler(schema), to_camel(self._name)
        field = _without_null(handler.resolve_ref_schema(own)["properties"][name])
        field["minItems" if field["type"] == "array" else "minLength"] = 1
        return {"allOf": [own, {"type": "object", "required": [name], "properties": {name: field}}]}

    def _checked(self, value: Any) -> Any:
        if not getattr(value, self._name):
            raise PydanticCustomError("missing", "needs {name}", {"name": to_camel(self._name)})
        return value


class Schemas(GenerateJsonSchema):
    """Writes the schemas of a server's types.

    A record keeps fields that it does not know, an enum of the wire keeps values that it does not know, and bytes are
    base64.
    """

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """An object, or a record, which is open."""
        written = super().dataclass_schema(schema)
        if issubclass(schema["cls"], Record):
            self.resolve_ref_schema(written).update({"additionalProperties": True, _RECORD: True})
        return written

    def dataclass_args_schema(self, schema: core_schema.DataclassArgsSchema) -> JsonSchemaValue:
        """The fields, without the arguments that only a constructor takes."""
        fields = [one for one in schema["fields"] if not one.get("init_only")]
        return super().dataclass_args_schema({**schema, "fields": fields})

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        """One of the values, or for an enum of the wire any text."""
        written = super().enum_schema(schema)
        if not issubclass(schema["cls"], WireEnum):
            return written
        values = {name: written.pop(name) for name in ("enum", "const") if name in written}
        return {**written, "anyOf": [values, {"type": "string"}]}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """An object; keys that are numbers are written as such."""
        written = super().dict_schema(schema)
        if schema.get("keys_schema", {}).get("type") == "int":
            written["propertyNames"] = {"pattern": "^-?[0-9]{1,9}$"}
        return written

    def set_schema(self, schema: core_schema.SetSchema) -> JsonSchemaValue:
        """A list; of what a client sends twice, one is kept."""
        written = super().set_schema(schema)
        if self.mode == "validation":
            written.pop("uniqueItems")
        return written

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        """Base64 of either alphabet."""
        return {**super().bytes_schema(schema), "anyOf": _BYTES}


def opened(definitions: Json, roots: list[Any]) -> None:
    """Let everything within a record be open: it keeps unknown fields of what it holds, too."""
    todo: list[tuple[Any, bool]] = [(one, False) for one in (*roots, *definitions.values())]
    seen: set[tuple[int, bool]] = set()
    records: list[Any] = []
    while todo:
        schema, is_within = todo.pop()
        if (id(schema), is_within) in seen:
            continue
        seen.add((id(schema), is_within))
        if isinstance(schema, Mapping):
            if _RECORD in schema:
                is_within = True
                records.append(schema)
            if is_within and schema.get("additionalProperties") is False:
                schema["additionalProperties"] = True  # type: ignore[index]
            todo += [(one, is_within) for one in _below(schema, definitions)]
        elif isinstance(schema, list):
            todo += [(one, is_within) for one in schema]
    for one in records:
        one.pop(_RECORD, None)


def _below(schema: Mapping[str, Any], definitions: Json) -> Iterator[Any]:
    yield from schema.values()
    prefix = COMPONENTS.format(model="")
    if isinstance(ref := schema.get("$ref"), str) and ref.startswith(prefix):
        yield definitions.get(ref.removeprefix(prefix))


def _without_null(schema: JsonSchemaValue) -> JsonSchemaValue:
    """The schema of a field, for a value that is not null."""
    kinds = [one for one in schema.get("anyOf", [schema]) if one != {"type": "null"}]
    return dict(kinds[0]) if len(kinds) == 1 else {"anyOf": kinds}
