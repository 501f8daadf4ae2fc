"""The bases of the wire types: pydantic models in camelCase JSON, enums that tolerate new values, late field types.

The modules with models do without ``from __future__ import annotations``: pydantic compiles every annotation that
is a string, which is a fifth of the cost of importing such a module.
"""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from newel_types.records import WIRE_CONFIG


class WireModel(BaseModel):
    """A request-side type: camelCase JSON, snake_case attributes, unknown fields refused.

    Objects of other libraries with the same attributes (google-genai's) are accepted wherever ours are.
    """

    model_config = ConfigDict(**WIRE_CONFIG, from_attributes=True, defer_build=True)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """An instance from a dict, another instance or a foreign object (options as pydantic's)."""
        if isinstance(obj, BaseModel) and not isinstance(obj, cls):
            # It has no camelCase attributes, and looking for each of them in vain costs ten times the rest.
            options = {"by_alias": False, "by_name": True, **options}
        return super().model_validate(obj, **options)


class ResponseModel(WireModel):
    """A type that comes from the wire: fields that a newer service sends are kept, never fatal."""

    model_config = ConfigDict(extra="allow")


class WireEnum(str, Enum):  # noqa: UP042 - str() shows the member as google-genai does
    """A string enum: looked up in any case or by a foreign enum's member; an unknown value keeps its string."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if isinstance(value, Enum):
            value = value.value
        if not isinstance(value, str):
            return None
        folded = value.upper()
        for member in cls:
            if folded in (member.value.upper(), member.name):
                return member
        unknown = str.__new__(cls, value)
        unknown._name_ = unknown._value_ = value
        return unknown


def show(kind: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
    """The JSON schema of `kind`, in place of the type that `handler` was made for."""
    # Wrapped, because a handler looks at a schema's own JSON-schema functions only below the top.
    schema = TypeAdapter(kind).core_schema
    return handler(core_schema.json_or_python_schema(json_schema=schema, python_schema=schema))


class Late:
    """Marks a field whose type is imported and built when the field gets its first value.

    pydantic builds a model together with every type it can reach; a late field keeps a rarely used
    branch (and its modules) out, at the price of one Python call when the field is set.
    """

    __slots__ = ("_path", "_type")

    def __init__(self, path: str) -> None:
        self._path = path
        self._type: Any = None

    def resolve(self) -> Any:
        """The class that the path ``module:Class`` names; a bare module name means a module of this package."""
        if self._type is None:
            module, _, name = self._path.partition(":")
            module = module if "." in module else f"{__package__}.{module}"
            self._type = getattr(import_module(module), name)
        return self._type

    def read(self, value: object) -> Any:
        """`value` as an instance of the class."""
        cls = self._type or self.resolve()
        if isinstance(value, cls):
            return value
        return cls.model_validate(value) if hasattr(cls, "model_validate") else cls(value)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(built)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return show(self.resolve(), handler)


def built(value: object) -> object:
    """`value`, which pydantic then serialises by its own class.

    A class that never validated anything (its instance was unpickled, or made by `model_construct`) is
    completed first, because it has no serializer yet.
    """
    if isinstance(value, BaseModel) and not value.__pydantic_complete__:
        type(value).model_rebuild()
    return value


def late(path: str) -> object:
    """The runtime stand-in of the class that the path ``module:Class`` names, for annotations of wire models."""
    return Annotated[Any, Late(path)]
