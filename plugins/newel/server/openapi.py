"""OpenAPI: the description of a table of routes, from the types of its endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from newel.server.calls import Endpoint, as_endpoint
from newel.server.kinds import WEBSOCKET, Route
from newel.version import VERSION

_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
_COMPONENTS = "#/components/schemas/{model}"
_ERROR = {
    "type": "object",
    "required": ["detail"],
    "properties": {
        "detail": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]},
        "ref": {"type": "string", "description": "Where the server's log says more."},
    },
}


def endpoints_of(routes: Iterable[Route]) -> list[tuple[Route, Endpoint]]:
    """The HTTP routes with their endpoints, by path."""
    found = [(route, as_endpoint(route.load())) for route in routes if route.method != WEBSOCKET]
    return sorted(found, key=lambda one: (one[0].path, one[0].method))


def described(routes: Iterable[Route]) -> dict[str, Any]:
    """The OpenAPI document of `routes`."""
    found = endpoints_of(routes)
    schemas, definitions = _schemas(found)
    paths: dict[str, dict[str, Any]] = {}
    for route, endpoint in found:
        for number, path in enumerate((route.path, *route.aliases)):
            name = f"{route.name}_{number}" if number else route.name
            operation = _operation(name, path, endpoint, schemas)
            paths.setdefault(_PARAMETER.sub(r"{\1}", path), {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "newel", "version": VERSION},
        "paths": paths,
        "components": {"schemas": {"Error": _ERROR, **definitions}},
    }


def _schemas(found: Sequence[tuple[Route, Endpoint]]) -> tuple[dict[int, Any], dict[str, Any]]:
    """The schema of each type by the id of its adapter, and the definitions that they refer to."""
    adapters: list[tuple[int, Any, TypeAdapter[Any]]] = []
    for _, endpoint in found:
        if endpoint.body is not None:
            adapters.append((id(endpoint.body), "validation", endpoint.body))
        if endpoint.answer is not None:
            adapters.append((id(endpoint.answer), "serialization", endpoint.answer))
    schemas, whole = TypeAdapter.json_schemas(adapters, ref_template=_COMPONENTS)
    return {key: schema for (key, _), schema in schemas.items()}, whole.get("$defs", {})


def _operation(name: str, path: str, endpoint: Endpoint, schemas: dict[int, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": name, "summary": endpoint.text.partition("\n")[0]}
    if parameters := [*_path_parameters(path), *_query_parameters(endpoint)]:
        operation["parameters"] = parameters
    if endpoint.body is not None:
        content = {"application/json": {"schema": schemas[id(endpoint.body)]}}
        operation["requestBody"] = {"required": not endpoint.optional_body, "content": content}
    schema = schemas[id(endpoint.answer)] if endpoint.answer is not None else {}
    error = {
        "description": "Error",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    operation["responses"] = {
        "200": {"description": "OK", "content": {endpoint.media_type: {"schema": schema}}},
        "4XX": error,
        "5XX": error,
    }
    return operation


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(path)
    ]


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    if endpoint.query is None:
        return []
    _, whole = models_json_schema([(endpoint.query, "validation")], ref_template=_COMPONENTS)
    schema = next(iter(whole["$defs"].values()))
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": field}
        for name, field in schema.get("properties", {}).items()
    ]
