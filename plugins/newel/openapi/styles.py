"""Styles: how the value of a parameter is written, as the table of OpenAPI 3 says.

What stands for itself is percent-encoded, what separates is not, so that a value never becomes two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from newel.openapi.errors import ArgumentError
from newel.openapi.operation import Parameter, form_of

#: What `allowReserved` leaves alone: RFC 3986's reserved characters without those that end a value in a query.
_RESERVED = ":/?[]@!$'()*,;="
_PRINTABLE = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
Encode = Callable[[str], str]


def text_of(value: object, name: str) -> str:
    """A text, number or truth value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if isinstance(value, (int, float)):
        return json_of(value, name)
    what = "null" if value is None else "an object or a list"
    raise ArgumentError(f"{name}: {what} cannot stand here; give a text, a number or true or false")


def json_of(value: object, name: str) -> str:
    """A value as JSON, which has no NaN and no infinity."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError) as error:
        raise ArgumentError(f"{name}: the value has no form in JSON: {error}") from None


def encoded(text: str, name: str, safe: str = "") -> str:
    """`text` percent-encoded, but for what is unreserved."""
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise ArgumentError(f"{name}: the text holds half a character") from None


def _whole(parameter: Parameter, value: object) -> str | None:
    """The text of a parameter that is a document of its own."""
    if parameter.media is None:
        return None
    if form_of(parameter.media) == "json" or not isinstance(value, str):
        return json_of(value, parameter.name)
    return value


def _items(value: Any, name: str) -> list[str]:
    return [text_of(item, name) for item in value]


def _pairs(value: Any, name: str) -> list[tuple[str, str]]:
    return [(str(key), text_of(inner, f"{name}.{key}")) for key, inner in value.items()]


def joined(value: Any, name: str, encode: Encode, *, separator: str, between: str) -> str:
    """A list's items, or an object's keys and values, with `separator` between items and `between` key and value."""
    if isinstance(value, dict):
        return separator.join(f"{encode(key)}{between}{encode(text)}" for key, text in _pairs(value, name))
    if isinstance(value, list):
        return separator.join(map(encode, _items(value, name)))
    return encode(text_of(value, name))


def path_text(parameter: Parameter, value: Any) -> str:
    """The text of a path parameter, encoded."""
    name, between = parameter.name, "=" if parameter.explode else ","

    def encode(text: str) -> str:
        made = encoded(text, name)
        return made.replace(".", "%2E") if parameter.style == "label" and isinstance(value, (list, dict)) else made

    if (whole := _whole(parameter, value)) is not None:
        return encoded(whole, name)
    if parameter.style == "simple":
        return joined(value, name, encode, separator=",", between=between)
    if parameter.style == "label":
        separator = "." if parameter.explode else ","
        return "." + joined(value, name, encode, separator=separator, between=between)
    pairs = [(name, joined(value, name, encode, separator=",", between=","))]
    if parameter.explode and isinstance(value, dict):
        pairs = [(key, encode(text)) for key, text in _pairs(value, name)]
    elif parameter.explode and isinstance(value, list):
        pairs = [(name, encode(text)) for text in _items(value, name)]
    return "".join(f";{encoded(key, name)}" + (f"={text}" if text else "") for key, text in pairs)


def query_texts(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    """The names and values that a query parameter becomes, both encoded."""
    name = parameter.name

    def encode(text: str) -> str:
        return encoded(text, name, _RESERVED if parameter.reserved else "")

    own = encoded(name, name)
    if (whole := _whole(parameter, value)) is not None:
        return [(own, encode(whole))]
    if parameter.style == "deepObject" and isinstance(value, dict):
        return list(_deep(own, value, name, encode))
    if parameter.explode and isinstance(value, dict):
        return [(encoded(key, name), encode(text)) for key, text in _pairs(value, name)]
    if parameter.explode and isinstance(value, list):
        return [(own, encode(text)) for text in _items(value, name)]
    separator = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(parameter.style, ",")

    def apart(text: str) -> str:
        made = encode(text).replace(",", "%2C")
        if separator != "," and separator in made and isinstance(value, (list, dict)):
            raise ArgumentError(f"{name}: {text!r} holds the character that separates the items; it cannot be sent")
        return made

    return [(own, joined(value, name, apart, separator=separator, between=separator))]


def _deep(own: str, value: dict[str, Any], name: str, encode: Encode) -> list[tuple[str, str]]:
    texts: list[tuple[str, str]] = []
    for key, inner in value.items():
        if set("[]") & set(str(key)):
            raise ArgumentError(f"{name}: the key {key!r} holds a bracket, by which a server tells keys apart")
        place = f"{own}[{encoded(str(key), name)}]"
        if isinstance(inner, dict):
            texts += _deep(place, inner, name, encode)
        else:
            items = inner if isinstance(inner, list) else [inner]
            texts += [(place, encode(text)) for text in _items(items, f"{name}.{key}")]
    return texts


def header_text(parameter: Parameter, value: Any) -> str:
    """The text of a header; commas separate, and nothing is encoded."""
    name = parameter.name

    def plain(text: str) -> str:
        if isinstance(value, (list, dict)) and set(",=" if isinstance(value, dict) else ",") & set(text):
            raise ArgumentError(f"{name}: {text!r} holds a character that separates the items; it cannot be sent")
        return text

    whole = _whole(parameter, value)
    if whole is None:
        whole = joined(value, name, plain, separator=",", between="=" if parameter.explode else ",")
    return checked_header(name, whole)


def checked_header(name: str, text: str) -> str:
    """`text` if it can be the value of a header: printable ASCII without line breaks; else an ArgumentError."""
    if not _PRINTABLE.fullmatch(text):
        raise ArgumentError(
            f"the header {name}: a value has printable ASCII characters alone, and no blank at its ends"
        )
    return text


def cookie_texts(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    """The cookies that a cookie parameter becomes."""
    name = parameter.name
    if (whole := _whole(parameter, value)) is not None:
        return [(name, encoded(whole, name))]
    if parameter.explode and isinstance(value, dict):
        return [(encoded(key, name), encoded(text, name)) for key, text in _pairs(value, name)]
    if parameter.explode and isinstance(value, list):
        return [(name, encoded(text, name)) for text in _items(value, name)]
    return [(name, joined(value, name, lambda text: encoded(text, name), separator=",", between=","))]
