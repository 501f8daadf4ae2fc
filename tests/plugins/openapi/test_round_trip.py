"""What arrives is what was meant: random documents and arguments, the request read by another reader than its writer.

The reader knows the document and the table of styles in OpenAPI, and nothing of the code that writes.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.plugins.openapi.contexts import context_in

from newel.openapi import OpenAPIToolset
from newel_testkit import RestServer
from newel_testkit.rest_server import Answer, Received

SCALARS = ("string", "integer", "number", "boolean")
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
#: Texts that can be items of anything: no style has them as separators, and none is empty.
PLAIN = st.text(st.characters(exclude_categories=("Cs", "Z", "C"), exclude_characters="|[]"), min_size=1, max_size=8)
ASCII = st.text("abcXYZ019-_.!~*'()", min_size=1, max_size=8)
NAMES = st.from_regex(r"[A-Za-z$][A-Za-z0-9_$.-]{0,10}", fullmatch=True)
NUMBERS = {
    "integer": st.integers(-(10**18), 10**18),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
}


@dataclass(frozen=True)
class Slot:
    """A parameter as the document has it, with a value for it (None: not sent)."""

    name: str
    where: str
    style: str
    explode: bool
    schema: dict[str, Any]
    value: Any
    reserved: bool = False

    @property
    def described(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "in": self.where,
            "style": self.style,
            "explode": self.explode,
            "required": self.where == "path",
            "allowReserved": self.reserved,
            "schema": self.schema,
        }


def scalars(kind: str, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return texts if kind == "string" else NUMBERS[kind]


@st.composite
def valued(draw: Any, texts: st.SearchStrategy[str], keys: st.SearchStrategy[str], shapes: tuple[str, ...]) -> Any:
    """A schema and a value of it."""
    shape, kind = draw(st.sampled_from(shapes)), draw(st.sampled_from(SCALARS))
    if shape == "scalar":
        return {"type": kind}, draw(scalars(kind, texts))
    if shape == "array":
        return {"type": "array", "items": {"type": kind}}, draw(st.lists(scalars(kind, texts), min_size=1, max_size=4))
    names = draw(st.lists(keys, min_size=1, max_size=3, unique_by=str.lower))
    kinds = {name: draw(st.sampled_from(SCALARS)) for name in names}
    schema = {"type": "object", "properties": {name: {"type": one} for name, one in kinds.items()}}
    return schema, {name: draw(scalars(one, texts)) for name, one in kinds.items()}


STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
SHAPES = ("scalar", "array", "object")


def is_climbing(value: Any) -> bool:
    """Whether a path would be refused for a value: . and .. and what decodes to them."""
    texts = [value] if isinstance(value, str) else [*value, *value.values()] if isinstance(value, dict) else value
    return any(set(str(text)) & set("./%\\") for text in (texts if isinstance(texts, list) else []))


@st.composite
def slots(draw: Any, number: int) -> Slot:
    where = draw(st.sampled_from(list(STYLES)))
    style = draw(st.sampled_from(STYLES[where]))
    explode = True if style == "deepObject" else draw(st.booleans())
    shapes = {"deepObject": ("object",), "spaceDelimited": ("array",), "pipeDelimited": ("array",)}.get(style, SHAPES)
    texts = ASCII if where == "header" else PLAIN
    schema, value = draw(valued(texts, ASCII if where == "header" else PLAIN, shapes))
    if schema["type"] == "string" and where in ("query", "cookie") and style == "form":
        value = draw(TEXT)  # a text alone may be any
    if where == "path" and is_climbing(value):
        value = {"string": "safe", "array": ["safe"], "object": {"safe": "safe"}}.get(schema["type"], value)
        schema = {"type": "string"} if value == "safe" else schema
        schema = {"type": "array", "items": {"type": "string"}} if value == ["safe"] else schema
        schema = {"type": "object", "properties": {"safe": {"type": "string"}}} if isinstance(value, dict) else schema
    if where != "path" and draw(st.integers(0, 4)) == 0:
        value = None
    reserved = where == "query" and draw(st.booleans())
    return Slot(f"{draw(NAMES)}{number}", where, style, explode, schema, value, reserved)


def read_scalar(text: str, schema: dict[str, Any]) -> Any:
    kind = schema["type"]
    return {"string": str, "integer": int, "number": float, "boolean": lambda one: {"true": True, "false": False}[one]}[
        kind
    ](text)


def read_pairs(pairs: Iterator[tuple[str, str]] | list[tuple[str, str]], schema: dict[str, Any]) -> dict[str, Any]:
    return {unquote(key): read_scalar(unquote(text), schema["properties"][unquote(key)]) for key, text in pairs}


def read_joined(raw: str, schema: dict[str, Any], separator: str, explode: bool, decode: Callable[[str], str]) -> Any:
    """A value whose parts are separated by one text; an object's keys by = if it is exploded."""
    if schema["type"] == "array":
        return [read_scalar(decode(one), schema["items"]) for one in raw.split(separator)]
    if schema["type"] != "object":
        return read_scalar(decode(raw), schema)
    pieces = raw.split(separator)
    if explode:
        pairs = [(key, text) for key, _, text in (piece.partition("=") for piece in pieces)]
    else:
        pairs = list(zip(pieces[::2], pieces[1::2], strict=True))
    return {decode(key): read_scalar(decode(text), schema["properties"][decode(key)]) for key, text in pairs}


def read_path(slot: Slot, raw: str) -> Any:
    schema = slot.schema
    if slot.style == "simple":
        return read_joined(raw, schema, ",", slot.explode, unquote)
    if slot.style == "label":
        assert raw[0] == "."
        separator = "." if slot.explode and schema["type"] in ("array", "object") else ","
        if schema["type"] in SCALARS:
            return read_scalar(unquote(raw[1:]), schema)
        return read_joined(raw[1:], schema, separator, slot.explode, unquote)
    assert raw[0] == ";"
    if slot.explode and schema["type"] == "object":
        return read_pairs([(a, b) for a, _, b in (one.partition("=") for one in raw[1:].split(";"))], schema)
    if slot.explode and schema["type"] == "array":
        pairs = [one.partition("=") for one in raw[1:].split(";")]
        assert {unquote(key) for key, _, _ in pairs} == {slot.name}
        return [read_scalar(unquote(text), schema["items"]) for _, _, text in pairs]
    name, _, text = raw[1:].partition("=")
    assert unquote(name) == slot.name
    return read_joined(text, schema, ",", False, unquote)


def read_query(slot: Slot, pairs: list[tuple[str, str]]) -> Any:
    """The value of a slot among raw pairs; each that is used is taken out of them."""
    schema, kind = slot.schema, slot.schema["type"]
    if slot.style == "deepObject":
        mine = [(one, re.fullmatch(r"(.+?)\[(.+)\]", unquote(one[0]))) for one in pairs]
        found = [(one, match[2]) for one, match in mine if match and match[1] == slot.name]
        for one, _ in found:
            pairs.remove(one)
        return {key: read_scalar(unquote(text), schema["properties"][key]) for (_, text), key in found} or None
    if slot.explode and kind == "object":
        keys = set(schema["properties"])
        found_pairs = [one for one in pairs if unquote(one[0]) in keys]
        for one in found_pairs:
            pairs.remove(one)
        return read_pairs(found_pairs, schema) or None
    texts = [one for one in pairs if unquote(one[0]) == slot.name]
    for one in texts:
        pairs.remove(one)
    if not texts:
        return None
    if slot.explode and kind == "array":
        return [read_scalar(unquote(text), schema["items"]) for _, text in texts]
    ((_, raw),) = texts
    separator = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(slot.style, ",")
    return read_joined(raw, schema, separator if kind in ("array", "object") else "\0", False, unquote)


def pairs_of(raw: str, separator: str) -> list[tuple[str, str]]:
    return [(a, b) for a, _, b in (one.partition("=") for one in raw.split(separator))] if raw else []


def read_parameters(slots: list[Slot], received: Received) -> dict[str, Any]:
    """The value of each parameter, read from the request."""
    segments = received.path.split("/")[2:]
    query = pairs_of(received.query, "&")
    cookies = pairs_of(received.headers.get("cookie", ""), "; ")
    values: dict[str, Any] = {}
    for slot in slots:
        if slot.where == "path":
            values[slot.name] = read_path(slot, segments.pop(0))
        elif slot.where == "header":
            raw = received.headers.get(slot.name.lower())
            read = None if raw is None else read_joined(raw, slot.schema, ",", slot.explode, str)
            values[slot.name] = read
        else:
            values[slot.name] = read_query(slot, query if slot.where == "query" else cookies)
    assert not segments
    assert not query, f"nobody asked for {query}"
    assert not cookies
    return values


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@dataclass(frozen=True)
class Sent:
    """A body as the document has it, and the value that goes into it."""

    media: str
    schema: dict[str, Any]
    value: Any


@st.composite
def bodies(draw: Any) -> Sent | None:
    media = draw(st.sampled_from([None, "application/json", "application/vnd.x+json", *FORMS, "text/plain", RAW]))
    if media is None:
        return None
    if media in FORMS:
        schema, value = draw(valued(TEXT, NAMES, ("object",)))
        if draw(st.booleans()):
            schema["properties"]["list"] = {"type": "array", "items": {"type": "string"}}
            value["list"] = draw(st.lists(TEXT, min_size=1, max_size=3))
        if media == FORMS[1] and draw(st.booleans()):
            schema["properties"]["file"] = {"type": "string", "format": "binary"}
            value["file"] = draw(TEXT)
        return Sent(media, schema, value)
    if "json" not in media:
        return Sent(media, {"type": "string", **({"format": "binary"} if media == RAW else {})}, draw(TEXT))
    if draw(st.booleans()):
        return Sent(media, {}, draw(JSON_VALUES))
    keys = draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=lambda name: re.sub(r"\W|_", "", name.lower())))
    return Sent(
        media, {"type": "object", "properties": {key: {} for key in keys}}, {k: draw(JSON_VALUES) for k in keys}
    )


FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
RAW = "application/octet-stream"


def read_form(sent: Sent, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, schema in sent.schema["properties"].items():
        texts = [text for key, text in pairs if key == name]
        if schema["type"] == "array":
            values[name] = texts
        else:
            (text,) = texts
            values[name] = read_scalar(text, schema)
    return values


def read_multipart(received: Received) -> list[tuple[str, str]]:
    boundary = received.headers["content-type"].partition("boundary=")[2].encode()
    first, *parts, last = received.body.split(b"--" + boundary)
    assert (first, last) == (b"", b"--\r\n")
    pairs = []
    for part in parts:
        head, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'; name="([^"]*)"', head)
        assert name is not None
        assert (b'filename="' in head) == (name[1] == b"file")
        pairs.append((name[1].decode(), data.removesuffix(b"\r\n").decode()))
    return pairs


def read_body(sent: Sent, received: Received) -> Any:
    media = received.headers["content-type"].partition(";")[0]
    assert media == sent.media
    if media == FORMS[0]:
        return read_form(sent, parse_qsl(received.body.decode(), keep_blank_values=True, strict_parsing=True))
    if media == FORMS[1]:
        return read_form(sent, read_multipart(received))
    return received.body.decode() if media in ("text/plain", RAW) else json.loads(received.body)


@st.composite
def requests(draw: Any) -> tuple[list[Slot], Sent | None, str]:
    made = [draw(slots(number)) for number in range(draw(st.integers(0, 5)))]
    spread = [key.lower() for slot in made if slot.schema["type"] == "object" for key in slot.schema["properties"]]
    if len(spread) != len(set(spread)) or {slot.name.lower() for slot in made} & set(spread):
        made = [slot for slot in made if slot.schema["type"] != "object"]  # two of one name cannot be told apart
    return made, draw(bodies()), draw(st.sampled_from(["3.0.3", "3.1.0"]))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as one:
        yield one


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests())
def test_what_arrives_is_what_was_meant(
    rest: RestServer, runner: asyncio.Runner, made: tuple[list[Slot], Sent | None, str]
) -> None:
    parameters, sent, version = made
    rest.answers["*"] = Answer(204)
    path = "/x" + "".join(f"/{{{slot.name}}}" for slot in parameters if slot.where == "path")
    operation: dict[str, Any] = {"operationId": "op", "parameters": [slot.described for slot in parameters]}
    if sent is not None:
        operation["requestBody"] = {"required": True, "content": {sent.media: {"schema": sent.schema}}}
    document = {
        "openapi": version,
        "info": {"title": "T", "version": "1"},
        "servers": [{"url": rest.url}],
        "paths": {path: {"post": {**operation, "responses": {}}}},
    }
    tool = OpenAPIToolset(spec_dict=document, allow_private_network_access=True).get_tool("op")
    assert tool is not None
    declared = list(tool._get_declaration().parameters_json_schema["properties"])
    of_body = [] if sent is None else list(sent.value.items()) if sent.schema.get("properties") else [("", sent.value)]
    values = [slot.value for slot in parameters] + [value for _, value in of_body]
    assert len(declared) == len(values)
    args = dict(zip(declared, values, strict=True))
    for name, slot in zip(declared, parameters, strict=False):
        if slot.value is None:
            del args[name]

    rest.requests.clear()
    result = runner.run(tool.run_async(args=args, tool_context=context_in("standard")))
    runner.run(tool._api.close())
    assert result == {"status": 204}
    (received,) = rest.requests
    assert read_parameters(parameters, received) == {slot.name: slot.value for slot in parameters}
    if sent is None:
        assert received.body == b""
    else:
        assert read_body(sent, received) == sent.value
