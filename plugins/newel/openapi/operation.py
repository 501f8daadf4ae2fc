"""Operation: what an operation of a document takes: its parameters and its body, with references resolved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from newel.openapi.document import Document, Entry
from newel.openapi.errors import DocumentError
from newel_kernel import Json

PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Location -> its styles; the first is the default.
_STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
#: Headers that are not arguments: OpenAPI says so of the first three, the others frame the request or carry secrets.
_RESERVED_HEADERS = frozenset(
    [
        "accept",
        "authorization",
        "content-type",
        "connection",
        "content-encoding",
        "content-length",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
#: How a body of a media type is written; the first is preferred.
JSON, FORM, MULTIPART, TEXT, BINARY = "json", "form", "multipart", "text", "binary"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter; `media` is set if its value is a document of its own, such as JSON in a query."""

    name: str
    location: str
    style: str
    explode: bool
    required: bool
    schema: Any
    description: str = ""
    reserved: bool = False
    media: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """The body: one document (`properties` is None), or an object whose properties are arguments by themselves."""

    media: str
    form: str
    required: bool
    schema: Any
    description: str
    properties: Mapping[str, Any] | None
    required_properties: frozenset[str]
    encoding: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation. `reserved` are the arguments that no caller may set, as (location, name in lower case)."""

    entry: Entry
    parameters: tuple[Parameter, ...]
    body: Body | None
    reserved: frozenset[tuple[str, str]]


def read_operation(document: Document, entry: Entry, secret: frozenset[tuple[str, str]]) -> Operation:
    """The operation of an entry; `secret` are the places of credentials, as (location, name in lower case)."""
    if set("?#") & set(entry.path):
        raise DocumentError(f"{entry.place}: a path has neither ? nor #; describe a query as parameters")
    parameters: dict[tuple[str, str], Parameter] = {}
    reserved = set(secret)
    for owner in (entry.shared, entry.operation):
        listed = owner.get("parameters") or []
        if not isinstance(listed, list):
            raise DocumentError(f"{entry.place}: `parameters` must be a list")
        for number, item in enumerate(listed):
            found = _parameter(document, document.resolved(item, f"{entry.place}: parameter {number + 1}"), entry)
            key = found.location, found.name.lower()
            if key in secret or (found.location == "header" and found.name.lower() in _RESERVED_HEADERS):
                reserved.add(key)
            else:
                parameters[found.location, found.name] = found
    described = {name for location, name in parameters if location == "path"}
    if missing := [name for name in PLACEHOLDER.findall(entry.path) if name not in described]:
        raise DocumentError(f"{entry.place}: no parameter describes {', '.join(missing)} of the path")
    used = set(PLACEHOLDER.findall(entry.path))
    kept = tuple(one for one in parameters.values() if one.location != "path" or one.name in used)
    return Operation(entry, kept, _body(document, entry), frozenset(reserved))


def _parameter(document: Document, found: Json, entry: Entry) -> Parameter:
    name, location = found.get("name"), found.get("in")
    if not isinstance(name, str) or not name or location not in _STYLES:
        raise DocumentError(f"{entry.place}: the parameter {name!r} in {location!r} is not one of OpenAPI 3")
    place = f"{entry.place}: the parameter {name!r}"
    if location in ("header", "cookie") and not _TOKEN.fullmatch(name):
        raise DocumentError(f"{place} cannot be the name of a {location}")
    style = found.get("style") or _STYLES[location][0]
    if style not in _STYLES[location]:
        raise DocumentError(f"{place} has the style {style!r}; a {location} has {', '.join(_STYLES[location])}")
    media, schema = None, found.get("schema", {})
    if isinstance(content := found.get("content"), dict) and content:
        media, described = next(iter(content.items()))
        schema = document.resolved(described, place).get("schema", {})
    explode = found.get("explode")
    return Parameter(
        name=name,
        location=location,
        style=style,
        explode=explode if isinstance(explode, bool) else style in ("form", "deepObject"),
        required=location == "path" or found.get("required") is True,
        schema=schema,
        description=_text(found.get("description")),
        reserved=found.get("allowReserved") is True and location == "query",
        media=media,
    )


def _body(document: Document, entry: Entry) -> Body | None:
    if not entry.operation.get("requestBody"):
        return None
    place = f"{entry.place}: the body"
    found = document.resolved(entry.operation["requestBody"], place)
    content = found.get("content")
    if not isinstance(content, dict) or not content:
        return None
    media = min(content, key=lambda media: _rank(str(media)))
    described = document.resolved(content[media] or {}, place)
    schema = described.get("schema", {})
    form = form_of(str(media), schema)
    properties, required = _properties(document, schema, form, place)
    encoding = described.get("encoding")
    return Body(
        media=str(media),
        form=form,
        required=found.get("required") is True,
        schema=schema,
        description=_text(found.get("description")),
        properties=properties,
        required_properties=required,
        encoding={k: v for k, v in encoding.items() if isinstance(v, dict)} if isinstance(encoding, dict) else {},
    )


def form_of(media: str, schema: Any = None) -> str:
    """How a body of a media type is written."""
    kind = media.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return JSON
    if kind == "application/x-www-form-urlencoded":
        return FORM
    if kind.startswith("multipart/"):
        return MULTIPART
    if kind == "*/*":
        return TEXT if isinstance(schema, dict) and schema.get("type") == "string" else JSON
    return TEXT if kind.startswith("text/") or kind.endswith(("/xml", "+xml", "/yaml")) else BINARY


def _rank(media: str) -> int:
    return (JSON, FORM, MULTIPART, TEXT, BINARY).index(form_of(media))


def _properties(
    document: Document, schema: Any, form: str, place: str
) -> tuple[Mapping[str, Any] | None, frozenset[str]]:
    """The properties that are arguments by themselves: those of a plain object; a form has no other kind."""
    if not isinstance(schema, dict):
        return None, frozenset()
    shape = document.resolved(schema, place)
    properties = shape.get("properties")
    composed = any(key in shape for key in ("allOf", "anyOf", "oneOf", "not", "if", "patternProperties"))
    is_open = bool(shape.get("additionalProperties")) or shape.get("nullable") is True
    if not isinstance(properties, dict) or not properties or composed or is_open or form in (TEXT, BINARY):
        return None, frozenset()
    if shape.get("type", "object") != "object":
        return None, frozenset()
    required = shape.get("required")
    return {str(name): one for name, one in properties.items()}, frozenset(
        required if isinstance(required, list) else ()
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
