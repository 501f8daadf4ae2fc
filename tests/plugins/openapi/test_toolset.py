"""The toolset: which operations are tools, what they are called, and what is left out."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from newel.openapi import DocumentError, OpenAPIToolset
from newel_kernel import Effect
from newel_testkit import RestServer

OK: dict[str, Any] = {"responses": {"200": {"description": "ok"}}}


def document(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    base = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "servers": [{"url": "https://api.example"}]}
    return {**base, "paths": paths, **more}


def names(toolset: OpenAPIToolset) -> list[str]:
    return [tool.name for tool in asyncio.run(toolset.get_tools())]


def test_effects_follow_from_the_methods() -> None:
    methods = ("get", "head", "options", "put", "delete", "post", "patch")
    toolset = OpenAPIToolset(spec_dict=document({"/a": {one: {"operationId": one, **OK} for one in methods}}))
    effects = {tool.name: tool.effect for tool in asyncio.run(toolset.get_tools())}
    assert effects == {
        **dict.fromkeys(("get", "head", "options"), Effect.PURE),
        **dict.fromkeys(("put", "delete"), Effect.IDEMPOTENT),
        **dict.fromkeys(("post", "patch"), Effect.AT_MOST_ONCE),
    }


def test_operations_without_an_id_or_with_that_of_another_are_named_by_path(caplog: Any) -> None:
    paths = {
        "/a/{x}": {"get": OK},
        "/b": {"get": {"operationId": "same", **OK}},
        "/c": {"post": {"operationId": "same", **OK}},
    }
    paths["/a/{x}"]["parameters"] = [{"name": "x", "in": "path", "required": True, "schema": {}}]
    with caplog.at_level(logging.WARNING):
        toolset = OpenAPIToolset(spec_dict=document(paths))
    assert names(toolset) == ["a_x_get", "b_get", "c_post"]
    assert "'same' names several operations: GET /b, POST /c" in caplog.text


def test_many_that_would_have_one_name_get_names_of_their_own_in_little_time(caplog: Any) -> None:
    alike = ["".join(signs) for signs in itertools.product("-._~", repeat=6)]
    listed = [{"name": f"a{signs}", "in": "query", "schema": {}} for signs in alike]
    paths = {f"/a{signs}": {"get": OK} for signs in alike} | {"/many": {"get": {"parameters": listed, **OK}}}
    began = time.process_time()
    with caplog.at_level(logging.WARNING):
        toolset = OpenAPIToolset(spec_dict=document(paths))
    many = toolset.get_tool("many_get")
    assert many is not None
    properties = many._get_declaration().parameters_json_schema["properties"]
    assert time.process_time() - began < 20  # minutes, if each looks for a name from the first one on
    assert len(set(names(toolset))) == len(alike) + 1
    assert len(many._arguments.listed) == len(alike)
    assert all(len(name) <= 64 for name in (*names(toolset), *properties))
    assert len(caplog.text) < 2_000


def test_an_operation_that_cannot_be_used_is_left_out_and_named(caplog: Any) -> None:
    broken = {"operationId": "broken", "parameters": [{"$ref": "#/components/parameters/Nowhere"}], **OK}
    toolset = OpenAPIToolset(spec_dict=document({"/a": {"get": {"operationId": "good", **OK}}, "/b": {"get": broken}}))
    assert names(toolset) == names(toolset) == ["good"]
    assert caplog.text.count("'#/components/parameters/Nowhere' leads nowhere") == 1
    with pytest.raises(DocumentError, match=r"GET /b: parameter 1: .*there is no 'components'"):
        toolset.get_tool("broken")


def test_a_filter_that_names_nothing_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"no operation is called 'goood'; there are: good"):
        OpenAPIToolset(spec_dict=document({"/a": {"get": {"operationId": "good", **OK}}}), tool_filter=["goood"])


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_document_may_be_a_file(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"api.{suffix}"
    text = '{"openapi": "3.0.0", "servers": [{"url": "https://a.example"}], "paths": {"/a": {"get": {}}}}'
    file.write_text(text if suffix == "json" else f"# a comment\n{text}", "utf-8")
    assert names(OpenAPIToolset(spec_file=file)) == ["a_get"]


def large() -> dict[str, Any]:
    """4.5 MB: 300 schemas that refer to each other, 1,200 operations."""
    schemas = {
        f"S{i}": {
            "type": "object",
            "properties": {f"p{j}": {"$ref": f"#/components/schemas/S{(i + j + 1) % 300}"} for j in range(4)},
        }
        for i in range(300)
    }
    paths = {
        f"/p{i}": {
            "post": {
                "operationId": f"op{i}",
                "description": "d" * 3500,
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/S{i % 300}"}}}
                },
                **OK,
            }
        }
        for i in range(1200)
    }
    return document(paths, components={"schemas": schemas})


def test_a_large_document_is_read_lazily_and_its_declarations_stay_small() -> None:
    spec = large()
    began = time.process_time()
    tools = asyncio.run(OpenAPIToolset(spec_dict=spec).get_tools())
    read = time.process_time() - began
    declared = [tool._get_declaration() for tool in tools]
    took = time.process_time() - began
    print(f"{len(tools)} operations: {read:.2f} s of CPU to read them, {took:.2f} with all declarations")
    assert len(tools) == 1200
    assert took < 20  # two on a machine at rest
    assert max(len(str(one)) for one in declared if one is not None) < 100_000


def test_connections_are_used_again(rest: RestServer, context: Any) -> None:
    toolset = OpenAPIToolset(spec_dict=rest.document, allow_private_network_access=True)

    async def run() -> list[Any]:
        tool = toolset.get_tool("list_pets")
        assert tool is not None
        results = [await tool.run_async(args={"tags": ["cat"]}, tool_context=context) for _ in range(3)]
        await toolset.close()
        return [*results, await tool.run_async(args={}, tool_context=context)]

    results = asyncio.run(run())
    assert results == [{"result": [{"id": 1, "name": "Tom", "tags": ["cat"]}]}] * 4
    connections = [one.connection for one in rest.requests]
    assert connections[0] == connections[1] == connections[2] != connections[3]
