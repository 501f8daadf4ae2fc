"""Schemas of tool parameters and structured output, in the OpenAPI dialect of the service."""

from typing import Any

from newel_types.wire import WireEnum, WireModel


class Type(WireEnum):
    """The type of a schema."""

    TYPE_UNSPECIFIED = "TYPE_UNSPECIFIED"
    STRING = "STRING"
    NUMBER = "NUMBER"
    INTEGER = "INTEGER"
    BOOLEAN = "BOOLEAN"
    ARRAY = "ARRAY"
    OBJECT = "OBJECT"
    NULL = "NULL"


class Schema(WireModel):
    """A schema; `properties`, `items` and `any_of` nest."""

    additional_properties: Any = None
    defs: dict[str, "Schema"] | None = None
    ref: str | None = None
    any_of: list["Schema"] | None = None
    default: Any = None
    description: str | None = None
    enum: list[str] | None = None
    example: Any = None
    format: str | None = None
    items: "Schema | None" = None
    max_items: int | None = None
    max_length: int | None = None
    max_properties: int | None = None
    maximum: float | None = None
    min_items: int | None = None
    min_length: int | None = None
    min_properties: int | None = None
    minimum: float | None = None
    nullable: bool | None = None
    pattern: str | None = None
    properties: dict[str, "Schema"] | None = None
    property_ordering: list[str] | None = None
    required: list[str] | None = None
    title: str | None = None
    type: Type | None = None
