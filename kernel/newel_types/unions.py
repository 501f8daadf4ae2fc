"""What callers may pass for contents, tools, schemas and speech, and how a configuration reads it."""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_origin

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from newel_types.content import Content, Part
from newel_types.records import Json, Record, dump_nested
from newel_types.wire import Late, built, late, show

if TYPE_CHECKING:
    from newel_types.files import File
    from newel_types.schema import Schema
    from newel_types.speech import SpeechConfig
    from newel_types.tools import Tool
else:
    File = late("files:File")
    Schema = late("schema:Schema")
    SpeechConfig = late("speech:SpeechConfig")
    Tool = late("tools:Tool")

_LATE_FILE = Late("files:File")
_LATE_SCHEMA = Late("schema:Schema")
_LATE_TOOL = Late("tools:Tool")
#: A dict with one of these keys is a Content, with one of `_FILE_KEYS` a File; any other dict is a Part.
_CONTENT_KEYS = frozenset(("parts", "role"))
_FILE_NAMES = ("uri", "name", "display_name", "mime_type", "download_uri", "size_bytes", "sha256_hash", "state")
_FILE_KEYS = frozenset((*_FILE_NAMES, *map(to_camel, _FILE_NAMES)))


class Reader:
    """Marks a field as read by one function; pydantic would try every member of the union.

    The function tells the members apart by their keys, so that a member with an unknown key is not
    taken for another member.
    """

    __slots__ = ("read", "shown")

    def __init__(self, read: Callable[[object], object], schema_type: object) -> None:
        self.read = read
        #: The type that a JSON schema shows.
        self.shown = schema_type

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read,
            serialization=core_schema.plain_serializer_function_ser_schema(write, info_arg=True),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return show(self.shown, handler)


def write(value: object, info: SerializationInfo) -> object:
    """Record objects, also in lists, as plain data; pydantic serialises the rest by its own class."""
    return [write(item, info) for item in value] if isinstance(value, list) else built(dump_nested(value, info))


def read_content(value: object) -> object:
    """Dicts and foreign objects as Content, Part or File; strings and our own objects unchanged."""
    if isinstance(value, (str, Record)):
        return value
    if isinstance(value, list):
        return [read_content(item) for item in value]
    names = value if isinstance(value, dict) else getattr(type(value), "model_fields", ())
    if not names or not _CONTENT_KEYS.isdisjoint(names):
        return Content.model_validate(value)
    return Part.model_validate(value) if _FILE_KEYS.isdisjoint(names) else _LATE_FILE.read(value)


def read_tool(item: object) -> object:
    """A dict or a foreign Tool as a Tool; callables and other objects unchanged."""
    return _LATE_TOOL.read(item) if isinstance(item, dict) or hasattr(item, "function_declarations") else item


def read_schema(value: object) -> object:
    """A dict, a type or a generic alias unchanged; a foreign Schema as ours."""
    is_schema = isinstance(value, (dict, type)) or get_origin(value) is not None
    return value if is_schema else _LATE_SCHEMA.read(value)


PartUnion: TypeAlias = str | File | Part
PartUnionDict: TypeAlias = PartUnion | Json
PartListUnion: TypeAlias = list[PartUnion] | PartUnion
PartListUnionDict: TypeAlias = list[PartUnionDict] | PartUnionDict
ContentUnion: TypeAlias = Annotated[
    Content | PartUnion | list[PartUnion], Reader(read_content, Content | PartUnion | list[PartUnion])
]
ContentUnionDict: TypeAlias = ContentUnion | Json
ContentListUnion: TypeAlias = Annotated[
    ContentUnion | list[ContentUnion] | list[Content], Reader(read_content, ContentUnion | list[ContentUnion])
]
ContentListUnionDict: TypeAlias = ContentListUnion | list[Json] | Json
SchemaUnion: TypeAlias = Annotated[
    dict[Any, Any] | type | Schema | GenericAlias | UnionType, Reader(read_schema, Json | Schema)
]
SchemaUnionDict: TypeAlias = SchemaUnion
SpeechConfigUnion: TypeAlias = str | SpeechConfig
SpeechConfigUnionDict: TypeAlias = SpeechConfigUnion | Json
ToolUnion: TypeAlias = Annotated[Tool | Callable[..., Any] | Any, Reader(read_tool, Tool)]
ToolUnionDict: TypeAlias = ToolUnion
ToolListUnion: TypeAlias = list[ToolUnion]
ToolListUnionDict: TypeAlias = ToolListUnion
