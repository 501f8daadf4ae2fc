"""OpenAPI: the description of a table of routes, from the types of its endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter

from newel.server.calls import Endpoint, as_endpoint
from newel.server.kinds import WEBSOCKET, Route
from newel.server.schemas import COMPONENTS, Schemas, opened
from newel.version import VERSION

_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
#: What a parameter of a path is unless its endpoint says more.
_TEXT = {"type": "string", "minLength": 1}
#: The media types of values of any kind.
_VALUES = ("application/json", "application/x-yaml")
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
        answers = [endpoint.answer] if endpoint.answer is not None else []
        adapters += [(id(one), "serialization", one) for one in (*answers, *endpoint.others.values())]
    schemas, whole = TypeAdapter.json_schemas(adapters, ref_template=COMPONENTS, schema_generator=Schemas)
    definitions: dict[str, Any] = whole.get("$defs", {})
    opened(definitions, list(schemas.values()))
    return {key: schema for (key, _), schema in schemas.items()}, definitions


def _operation(name: str, path: str, endpoint: Endpoint, schemas: dict[int, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": name, "summary": endpoint.text.partition("\n")[0]}
    others = sorted(endpoint.others.items())
    if parameters := [*_path_parameters(path, endpoint), *_query_parameters(endpoint)]:
        operation["parameters"] = parameters
    if endpoint.body is not None:
        content = {"application/json": {"schema": schemas[id(endpoint.body)]}}
        operation["requestBody"] = {"required": not endpoint.optional_body, "content": content}
    elif endpoint.files:
        content = {"multipart/form-data": {"schema": _form(endpoint.files)}}
        operation["requestBody"] = {"required": True, "content": content}
    schema = schemas[id(endpoint.answer)] if endpoint.answer is not None else _undeclared(endpoint)
    error = _response("Error", "application/json", {"$ref": COMPONENTS.format(model="Error")})
    operation["responses"] = {
        "200": _response("OK", endpoint.media_type, schema),
        **{str(status): _response("Error", "application/json", schemas[id(one)]) for status, one in others},
        "4XX": error,
        "5XX": error,
    }
    return operation


def _response(description: str, media_type: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _undeclared(endpoint: Endpoint) -> dict[str, Any]:
    """Anything, or the text that media types are which hold no values."""
    return {} if endpoint.media_type in _VALUES else {"type": "string"}


def _form(field: str) -> dict[str, Any]:
    files = {"type": "array", "items": {"type": "string", "contentMediaType": "application/octet-stream"}}
    return {"type": "object", "required": [field], "properties": {field: files}}


def _path_parameters(path: str, endpoint: Endpoint) -> list[dict[str, Any]]:
    known = _properties(endpoint.path)
    return [
        {"name": name, "in": "path", "required": True, "schema": known.get(name, _TEXT)}
        for name in _PARAMETER.findall(path)
    ]


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    if endpoint.query is None:
        return []
    required = {name for name, field in endpoint.query.model_fields.items() if field.is_required()}
    return [
        {"name": name, "in": "query", "required": name in required, "schema": field}
        for name, field in _properties(endpoint.query).items()
    ]


def _properties(model: type[BaseModel] | None) -> dict[str, Any]:
    """The schemas of a model's fields, which are plain values."""
    if model is None:
        return {}
    properties: dict[str, Any] = model.model_json_schema(schema_generator=Schemas).get("properties", {})
    return properties
