"""RestServer: a REST service on this machine with an OpenAPI document, for tests of tools. It keeps what it got."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, unquote

from newel_kernel import Json
from newel_testkit.local_server import LocalServer

#: The key that `add_pet` asks for, in the header X-Key.
REST_KEY = "rest-key-1234"


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came: nothing in it is decoded. Names of headers are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    #: The number of the connection.
    connection: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answers to a path."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class RestServer(LocalServer):
    """Use it as a context manager; `url` is its address, `document` describes its shop of pets.

    `requests` holds what it got, `answers` what it answers to other paths than those of the shop (an answer for
    ``*``: to all others).
    """

    requests: list[Received] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    pets: list[Json] = field(default_factory=lambda: [{"id": 1, "name": "Tom", "tags": ["cat"]}])
    _connections: int = 0

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                owner._connections += 1
                self.number = owner._connections

            def _answer(self) -> None:
                path, _, query = self.path.partition("?")
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers.get("content-length", 0)))
                received = Received(self.command, path, query, headers, body, self.number)
                owner.requests.append(received)
                answer = owner._answered(received)
                self.send_response(answer.status)
                for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_TRACE = _answer

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    @property
    def document(self) -> Json:
        """The OpenAPI document of the shop."""
        return {**_SHOP, "servers": [{"url": self.url}]}

    def _answered(self, received: Received) -> Answer:
        answer = self.answers.get(received.path)
        if answer is None:
            answer = self._sold(received) or self.answers.get("*")
        return answer if answer is not None else _json(404, {"message": "there is no such path"})

    def _sold(self, received: Received) -> Answer | None:
        if received.path == "/pets" and received.method == "GET":
            tags = set(parse_qs(received.query).get("tags", []))
            return _json(200, [pet for pet in self.pets if tags <= set(pet.get("tags", ()))])
        if received.path == "/pets" and received.method == "POST":
            if received.headers.get("x-key") != REST_KEY:
                return _json(401, {"message": "the key in X-Key is wrong"})
            pet = {"id": len(self.pets) + 1, **json.loads(received.body)}
            self.pets.append(pet)
            return _json(201, pet)
        if received.path.startswith("/pets/") and received.method == "GET":
            number = unquote(received.path.removeprefix("/pets/"))
            found = [pet for pet in self.pets if str(pet["id"]) == number]
            return _json(200, found[0]) if found else _json(404, {"message": f"there is no pet {number}"})
        return None


def _json(status: int, value: object) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


_PET: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
}
_OK: Json = {"200": {"description": "The pets."}}
_SHOP: Json = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "components": {
        "schemas": {"Pet": _PET},
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    },
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "summary": "List the pets that have all of the tags.",
                "parameters": [
                    {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}
                ],
                "responses": _OK,
            },
            "post": {
                "operationId": "addPet",
                "summary": "Add a pet.",
                "security": [{"key": []}],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                },
                "responses": _OK,
            },
        },
        "/pets/{id}": {
            "get": {
                "operationId": "getPet",
                "summary": "Get a pet.",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "responses": _OK,
            }
        },
    },
}
