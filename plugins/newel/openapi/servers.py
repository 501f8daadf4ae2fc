"""Servers: where the operations of a document are called, with the variables of the URLs filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from newel.net import UrlRefusedError
from newel.net.guard import Target, take_apart
from newel.openapi.document import Document, Entry
from newel.openapi.errors import DocumentError
from newel.openapi.operation import PLACEHOLDER

Origin = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Server:
    """A server's URL, without a slash at its end, and where it leads."""

    url: str
    target: Target

    @property
    def key(self) -> str:
        """The server in the name of a credential: its host, and its port unless it is that of https.

        Also as the name of an environment variable, no other host has this key.
        """
        host = self.target.host.replace("_", "___").replace("-", "--")
        return host if self.target.port == 443 else f"{host}_{self.target.port}"


class Servers:
    """The servers of a document; `url` replaces the document's own, and `variables` their defaults."""

    def __init__(self, document: Document, url: str | None, variables: Mapping[str, str]) -> None:
        self._document = document
        self._variables = dict(variables)
        listed = [{"url": url}] if url else document.root.get("servers") or [{"url": "/"}]
        self._fixed = url is not None
        self._own = self._all(listed, "the document")
        if unknown := self._variables.keys() - self._described(listed):
            raise DocumentError(f"no server has the variables {', '.join(sorted(unknown))}")

    def of(self, entry: Entry) -> Server:
        """The server of an operation: the first of its own, of its path's, or of the document's."""
        for owner in (entry.operation, entry.shared):
            if not self._fixed and isinstance(listed := owner.get("servers"), list) and listed:
                return self._first(self._all(listed[:1], entry.place), entry.place)
        return self._first(self._own, entry.place)

    @property
    def trusted(self) -> frozenset[Origin]:
        """The origins of the document's own servers: keys that were given with it go there."""
        return frozenset(server.target.origin for server in self._own if isinstance(server, Server))

    def _first(self, servers: Sequence[Server | str], place: str) -> Server:
        if isinstance(servers[0], Server):
            return servers[0]
        raise DocumentError(f"{place}: {servers[0]}; pass server='https://...' to say where the operations are called")

    def _all(self, listed: Any, place: str) -> list[Server | str]:
        """Each server, or what is wrong with it."""
        if not isinstance(listed, list) or not listed:
            raise DocumentError(f"{place}: `servers` must be a list")
        return [self._server(one, place) for one in listed]

    def _server(self, described: Any, place: str) -> Server | str:
        url = described.get("url") if isinstance(described, dict) else None
        if not isinstance(url, str):
            raise DocumentError(f"{place}: a server needs a `url`")
        variables = described.get("variables")
        for name in dict.fromkeys(PLACEHOLDER.findall(url)):
            url = url.replace(f"{{{name}}}", self._value(name, variables, place))
        if "://" not in url:
            return f"the server {url!r} is relative"
        try:
            target = take_apart(url)
        except UrlRefusedError as error:
            raise DocumentError(f"{place}: a server cannot be used: {error}") from None
        if "?" in url or "#" in url:
            raise DocumentError(f"{place}: the server {url!r} must have neither ? nor #")
        return Server(url.rstrip("/"), target)

    def _value(self, name: str, variables: Any, place: str) -> str:
        described = variables.get(name) if isinstance(variables, dict) else None
        if not isinstance(described, dict):
            if name in self._variables:
                return self._variables[name]
            raise DocumentError(f"{place}: nothing describes the variable {name!r} of the server's URL")
        value = str(self._variables.get(name, described.get("default", "")))
        allowed = described.get("enum")
        if isinstance(allowed, list) and allowed and value not in map(str, allowed):
            raise DocumentError(
                f"{place}: the variable {name!r} is {value!r}; it may be {', '.join(map(str, allowed))}"
            )
        return value

    def _described(self, listed: Any) -> set[str]:
        urls = [one.get("url") for one in listed if isinstance(one, dict)]
        return {name for url in urls if isinstance(url, str) for name in PLACEHOLDER.findall(url)}
