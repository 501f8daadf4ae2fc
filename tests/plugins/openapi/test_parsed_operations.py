"""Operations that are parsed by themselves, under the released names."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.plugins.openapi.contexts import context_in

from newel.openapi import DocumentError
from newel.tools.openapi_tool.openapi_spec_parser import (
    OpenApiSpecParser,
    OperationParser,
    ParsedOperation,
    RestApiTool,
    snake_to_lower_camel,
)
from newel_testkit import RestServer
from newel_testkit.rest_server import Answer
from newel_types import AuthCredential

PET = {"type": "object", "properties": {"petName": {"type": "string"}, "class": {"type": "integer"}}}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "T", "version": "1"},
    "servers": [{"url": "https://api.example.com/v1"}],
    "security": [{"key": []}],
    "components": {
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "schemas": {
            "Pet": PET,
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}},
            "Unused": {"type": "string", "nullable": True},
        },
    },
    "paths": {
        "/pets/{petId}": {
            "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}}],
            "put": {
                "operationId": "updatePet",
                "description": "Update a pet.",
                "parameters": [{"name": "dryRun", "in": "query", "description": "try", "schema": {"type": "boolean"}}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                "responses": {
                    "404": {"description": "no"},
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                },
            },
            "get": {"security": [], "responses": {"204": {"description": "none"}}},
        },
        "/nodes": {
            "post": {
                "operationId": "addNode",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {"type": "object", "properties": {"node": {"$ref": "#/components/schemas/Node"}}}
                        }
                    },
                },
                "responses": {},
            }
        },
    },
}


def parsed(**changes: Any) -> dict[str, ParsedOperation]:
    return {one.name: one for one in OpenApiSpecParser().parse({**DOCUMENT, **changes})}


def test_a_document_is_parsed_into_its_operations() -> None:
    found = parsed()
    assert list(found) == ["pets_pet_id_get", "update_pet", "add_node"]
    update, read = found["update_pet"], found["pets_pet_id_get"]
    assert update.description == "Update a pet."
    assert update.endpoint.model_dump() == {
        "base_url": "https://api.example.com/v1",
        "path": "/pets/{petId}",
        "method": "put",
    }
    places = [(one.original_name, one.param_location, one.py_name, one.required) for one in update.parameters]
    assert places == [
        ("petId", "path", "pet_id", True),
        ("dryRun", "query", "dry_run", False),
        ("petName", "body", "pet_name", False),
        ("class", "body", "param_class", False),
    ]
    assert update.return_value.param_schema == {"$ref": "#/components/schemas/Pet"}
    assert update.auth_scheme is not None
    assert read.auth_scheme is None
    assert list(update.document["components"]["schemas"]) == ["Pet"]


def test_an_operation_has_a_parser_of_its_own() -> None:
    update = parsed()["update_pet"]
    parser = OperationParser(update.operation, document=update.document)
    assert parser.get_function_name() == "update_pet"
    assert parser.get_auth_scheme_name() == "key"
    schema = parser.get_json_schema()
    assert schema["required"] == ["pet_id"]
    assert schema["properties"]["param_class"] == {"type": "integer"}
    loaded = OperationParser.load(update.operation, update.parameters, update.return_value)
    assert loaded.get_parameters() == update.parameters
    assert loaded.get_return_value() == update.return_value
    with pytest.raises(DocumentError, match="no operationId"):
        OperationParser({"responses": {}}).get_function_name()


@pytest.mark.parametrize("as_text", [False, True])
def test_a_parsed_operation_is_a_tool_again(rest: RestServer, as_text: bool) -> None:
    """Also after it was kept as JSON, with a schema that refers to itself."""
    rest.answers["*"] = Answer(204)
    added = parsed(servers=[{"url": rest.url}])["add_node"]
    added.auth_credential = AuthCredential(auth_type="apiKey", api_key="SECRET-1")
    if as_text:
        added = ParsedOperation.model_validate_json(added.model_dump_json(by_alias=True))
    tool = RestApiTool.from_parsed_operation(added, allow_private_network_access=True)

    async def run(**args: Any) -> Any:
        result = await tool.run_async(args=args, tool_context=context_in("standard"))
        await tool._api.close()
        return result

    assert asyncio.run(run(node={"next": {"next": {}}})) == {"status": 204}
    (request,) = rest.requests
    assert (request.body, request.headers["x-key"]) == (b'{"node":{"next":{"next":{}}}}', "SECRET-1")
    assert "is not of type 'object'" in asyncio.run(run(node={"next": {"next": 1}}))["error"]


def test_a_tool_of_json_refuses_what_is_private(rest: RestServer) -> None:
    text = parsed(servers=[{"url": rest.url}], security=[])["add_node"].model_dump_json()
    tool = RestApiTool.from_parsed_operation_str(text)
    result: Any = asyncio.run(tool.run_async(args={}, tool_context=context_in("standard")))
    assert "is not a public host" in result["error"]
    assert not rest.requests


def test_a_reference_out_of_the_document_is_refused() -> None:
    paths = {"/x": {"get": {"parameters": [{"$ref": "http://127.0.0.1/p.json"}]}}}
    with pytest.raises(DocumentError, match="leads out of the document"):
        parsed(paths=paths)


def test_names_in_snake_case_become_camels() -> None:
    assert [snake_to_lower_camel(name) for name in ("single", "two_words", "")] == ["single", "twoWords", ""]
