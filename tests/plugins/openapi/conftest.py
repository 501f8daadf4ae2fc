"""A REST server, tools of documents that it serves, and a context to call them in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.plugins.openapi.contexts import context_in

from newel.contexts.context import Context
from newel.openapi import OpenAPIToolset
from newel_kernel import BaseTool
from newel_testkit import RestServer
from newel_testkit.rest_server import Answer


@pytest.fixture(params=["standard", "adk"])
def context(request: pytest.FixtureRequest) -> Context:
    return context_in(request.param)


@pytest.fixture(scope="module")
def rest() -> Iterator[RestServer]:
    with RestServer() as server:
        yield server


@pytest.fixture(autouse=True)
def forgotten(request: pytest.FixtureRequest) -> None:
    """What the server got for an earlier test."""
    if "rest" in request.fixturenames:
        server = request.getfixturevalue("rest")
        server.requests.clear()
        server.answers.clear()


Call = Callable[..., Any]


def call_in(toolset: OpenAPIToolset, name: str, args: dict[str, Any], context: Context | None = None) -> Any:
    """The result of one call."""

    async def run() -> Any:
        tool = toolset.get_tool(name)
        assert isinstance(tool, BaseTool), f"there is no tool {name}"
        return await tool.run_async(args=args, tool_context=context or context_in("standard"))

    return asyncio.run(run())


@pytest.fixture
def call() -> Call:
    return call_in


@pytest.fixture
def of() -> Call:
    """``of(rest, operation, path="/x", method="get", **document)``: a toolset with one operation `op`."""

    def make(
        rest: RestServer, operation: dict[str, Any], path: str = "/x", method: str = "get", **rest_of: Any
    ) -> OpenAPIToolset:
        options = rest_of.pop("options", {})
        rest.answers.setdefault("*", _OK)
        document = {
            "openapi": rest_of.pop("version", "3.1.0"),
            "info": {"title": "T", "version": "1"},
            "servers": [{"url": rest.url}],
            "paths": {path: {method: {"operationId": "op", "responses": {}, **operation}}},
            **rest_of,
        }
        return OpenAPIToolset(spec_dict=document, allow_private_network_access=True, **options)

    return make


_OK = Answer(200, b'{"ok": true}', {"Content-Type": "application/json"})
