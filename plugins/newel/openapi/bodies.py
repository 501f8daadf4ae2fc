"""Bodies: JSON, forms, multipart with files, text and binary, written from the values of a call."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from newel.openapi.errors import ArgumentError
from newel.openapi.operation import BINARY, FORM, JSON, MULTIPART, TEXT, Body, Parameter, form_of
from newel.openapi.styles import checked_header, json_of, query_texts, text_of
from newel_kernel import Json

#: What a file name in a multipart header may not hold, percent-encoded as browsers do.
_NAME_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


@dataclass(frozen=True, slots=True)
class File:
    """A file among the values of a call."""

    data: bytes = field(repr=False)
    name: str = "file"
    media: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Written:
    """A body as it is sent: its media type, and its pieces."""

    media: str
    pieces: tuple[bytes, ...] = field(repr=False)


def write_body(body: Body, value: Any) -> Written:
    """The body that `value` (with a File for each file) becomes; raises ArgumentError."""
    if body.form == JSON:
        return Written(
            body.media if body.media != "*/*" else "application/json", (_bytes(json_of(value, "body"), "body"),)
        )
    if body.form == FORM:
        return Written(body.media, ("&".join(_form(body, _object(value))).encode("ascii"),))
    if body.form == MULTIPART:
        return _multipart(body, _object(value))
    if isinstance(value, File):
        return Written(value.media if "*" in body.media else body.media, (value.data,))
    media = body.media if "*" not in body.media else "text/plain"
    if body.form == TEXT and "charset" not in media:
        media = f"{media}; charset=utf-8"
    text = value if isinstance(value, str) else json_of(value, "body")
    return Written(media, (_bytes(text, "body"),))


def _bytes(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{name}: the text holds half a character") from None


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise ArgumentError("body: a form is an object")
    return value


def _form(body: Body, value: Json) -> Iterator[str]:
    """The pairs of a form; null is nothing in a form, and is left out."""
    for name, inner in value.items():
        if inner is None:
            continue
        encoding = body.encoding.get(name, {})
        if isinstance(inner, File):
            raise ArgumentError(f"{name}: a form of this kind takes no file")
        if encoding.keys() & {"style", "explode", "allowReserved"}:
            yield from (f"{key}={text}" for key, text in query_texts(_styled(name, encoding), inner))
            continue
        for item in inner if isinstance(inner, list) else [inner]:
            text = json_of(item, name) if isinstance(item, (dict, list)) else text_of(item, name)
            yield f"{_plus(name)}={_plus(text)}"


def _plus(text: str) -> str:
    try:
        return quote_plus(text)
    except UnicodeEncodeError:
        raise ArgumentError("the text of a form holds half a character") from None


def _styled(name: str, encoding: Mapping[str, Any]) -> Parameter:
    style = encoding.get("style") or "form"
    explode = encoding.get("explode")
    return Parameter(
        name=name,
        location="query",
        style=style if isinstance(style, str) else "form",
        explode=explode if isinstance(explode, bool) else style in ("form", "deepObject"),
        required=False,
        schema={},
        reserved=encoding.get("allowReserved") is True,
    )


def _multipart(body: Body, value: Json) -> Written:
    boundary = secrets.token_hex(16)  # which no content can foresee
    pieces: list[bytes] = []
    for name, inner in value.items():
        for item in inner if isinstance(inner, list) else [inner]:
            if item is not None:
                pieces += _part(boundary, name, item, body.encoding.get(name, {}))
    pieces.append(f"--{boundary}--\r\n".encode())
    return Written(f"{body.media.partition(';')[0].strip()}; boundary={boundary}", tuple(pieces))


def _part(boundary: str, name: str, value: Any, encoding: Mapping[str, Any]) -> Iterator[bytes]:
    described = encoding.get("contentType")
    media = described.split(",")[0].strip() if isinstance(described, str) and "*" not in described else None
    disposition = f'form-data; name="{name.translate(_NAME_ESCAPES)}"'
    if isinstance(value, File):
        disposition += f'; filename="{value.name.translate(_NAME_ESCAPES)}"'
        media, data = media or value.media, value.data
    elif isinstance(value, (dict, list)) or (media is not None and form_of(media) == JSON):
        media, data = media or "application/json", _bytes(json_of(value, name), name)
    else:
        data = _bytes(text_of(value, name), name)
    head = f"--{boundary}\r\nContent-Disposition: {disposition}\r\n"
    if media:
        head += f"Content-Type: {checked_header('Content-Type', media)}\r\n"
    yield _bytes(f"{head}\r\n", name)
    yield data
    yield b"\r\n"


def is_file(schema: Any, form: str) -> bool:
    """Whether a value of a (resolved) schema is a file: binary in a multipart body, or a body that is binary itself."""
    if form not in (MULTIPART, BINARY):
        return False
    if not isinstance(schema, dict):
        return form == BINARY
    if schema.get("format") == "binary":
        return True
    if "contentMediaType" in schema and "contentEncoding" not in schema:
        return schema.get("type") in (None, "string") and form_of(str(schema["contentMediaType"])) != JSON
    return form == BINARY and not schema.keys() & {"type", "properties", "$ref", "allOf", "anyOf", "oneOf"}
