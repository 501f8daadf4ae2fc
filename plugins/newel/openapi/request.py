"""Request: what is sent for a call, built of the server's URL, the path and the encoded values; nothing is pasted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import quote, unquote

from newel.openapi.arguments import Values
from newel.openapi.bodies import write_body
from newel.openapi.errors import ArgumentError
from newel.openapi.operation import PLACEHOLDER, Operation, Parameter
from newel.openapi.styles import checked_header, cookie_texts, encoded, header_text, path_text, query_texts

_PATH = "/%:@!$&'()*+,;=~-._"
_ACCEPT = "application/json, text/*;q=0.9, */*;q=0.5"
#: The first byte that a cookie's value may have in quotes alone.
_COOKIE = re.compile(r"[!#-+\--:<-\[\]-~]*")


@dataclass(frozen=True, slots=True)
class Keys:
    """What the credentials of a call add to its request; the values are secret."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it is sent."""

    method: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: tuple[bytes, ...] | None = field(repr=False)


class _Headers:
    """Headers, each once, whatever the case of its letters; later ones replace earlier ones."""

    def __init__(self, *given: Mapping[str, str]) -> None:
        self._by_name: dict[str, tuple[str, str]] = {}
        for headers in given:
            self |= headers

    def __ior__(self, headers: Mapping[str, str]) -> Self:
        self._by_name |= {name.lower(): (name, value) for name, value in headers.items()}
        return self

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._by_name.values())


def build(operation: Operation, server: str, values: Values, keys: Keys, defaults: Mapping[str, str]) -> Request:
    """The request of a call; raises ArgumentError if a value cannot be sent."""
    by_location: dict[str, list[tuple[Parameter, object]]] = {"path": [], "query": [], "header": [], "cookie": []}
    for parameter, value in values.parameters:
        by_location[parameter.location].append((parameter, value))
    path = _path(operation.entry.path, {parameter.name: (parameter, value) for parameter, value in by_location["path"]})
    query = _query(operation, by_location["query"])
    query += [f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in keys.query.items()]
    headers = _Headers({"Accept": _ACCEPT}, defaults)
    headers |= {parameter.name: header_text(parameter, value) for parameter, value in by_location["header"]}
    cookies = _cookies(by_location["cookie"], keys)
    body = None
    if values.has_body and operation.body is not None:
        written = write_body(operation.body, values.body)
        body = written.pieces
        headers |= {"Content-Type": written.media}
    elif operation.entry.method in ("POST", "PUT", "PATCH"):
        body = ()
    headers |= keys.headers
    if cookies:
        headers |= {"Cookie": "; ".join(cookies)}
    sent = tuple((name, checked_header(name, value)) for name, value in headers)
    return Request(operation.entry.method, server + path + ("?" + "&".join(query) if query else ""), sent, body)


def _path(template: str, values: Mapping[str, tuple[Parameter, object]]) -> str:
    """The path: each value stays within its segment, which it can neither empty nor turn into ``..``."""
    segments = []
    for segment in template.split("/"):
        pieces = PLACEHOLDER.split(segment)
        texts = [path_text(*values[one]) if number % 2 else quote(one, safe=_PATH) for number, one in enumerate(pieces)]
        text = "".join(texts)
        if len(pieces) > 1 and not text:
            raise ArgumentError(f"{pieces[1]}: an empty value would change the path; give one")
        if len(pieces) > 1 and _climbs(text):
            raise ArgumentError(f"{', '.join(pieces[1::2])}: a value in a path must not hold . or .. as a step")
        segments.append(text)
    return "/".join(segments)


def _climbs(text: str) -> bool:
    """Whether a server that decodes a segment, once or more often, may read a step ``.`` or ``..`` in it."""
    while (decoded := unquote(text)) != text:
        text = decoded
    return any(step in (".", "..") for step in re.split(r"[/\\]", text))


def _query(operation: Operation, given: Iterable[tuple[Parameter, object]]) -> list[str]:
    """The pairs of the query; the keys of a spread object must not be those of another parameter or of a credential."""
    taken = {one.name.lower() for one in operation.parameters if one.location == "query"}
    taken |= {name for location, name in operation.reserved if location == "query"}
    texts: list[str] = []
    for parameter, value in given:
        pairs = query_texts(parameter, value)
        if isinstance(value, dict) and parameter.explode and parameter.style == "form" and parameter.media is None:
            _refuse_taken(parameter, value, taken - {parameter.name.lower()})
        texts += [f"{name}={text}" for name, text in pairs]
    return texts


def _cookies(given: Iterable[tuple[Parameter, object]], keys: Keys) -> list[str]:
    texts: list[str] = []
    names = {parameter.name.lower() for parameter, _ in given} | {name.lower() for name in keys.cookies}
    for parameter, value in given:
        if isinstance(value, dict) and parameter.explode and parameter.media is None:
            _refuse_taken(parameter, value, names - {parameter.name.lower()})
        texts += [f"{name}={text}" for name, text in cookie_texts(parameter, value)]
    for name, secret in keys.cookies.items():
        texts.append(f"{name}={secret if _COOKIE.fullmatch(secret) else encoded(secret, name)}")
    return texts


def _refuse_taken(parameter: Parameter, value: Mapping[str, object], taken: set[str]) -> None:
    if double := [key for key in value if key.lower() in taken]:
        raise ArgumentError(f"{parameter.name}: {double[0]!r} is a parameter of its own")
