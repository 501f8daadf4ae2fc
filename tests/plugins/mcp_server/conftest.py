"""Agents as MCP servers, and the official SDK's client on the other side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from newel.mcp_server import AgentServer

Use = Callable[[Client], Awaitable[Any]]


class Bench:
    """A client of a server in this process. `answers` are the forms that its user fills in, in turn; None: no forms."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.asked: list[Any] = []
        self.progress: list[str] = []

    def use(self, server: AgentServer, use: Use, answers: list[Any] | None = None) -> Any:
        """What `use` returns."""
        return asyncio.run(asyncio.wait_for(self.using(server, use, answers), 30))

    async def using(self, server: AgentServer, use: Use, answers: list[Any] | None = None) -> Any:
        """The same, within a loop."""
        left = iter(answers or ())

        async def elicit(context: Any, params: Any) -> ElicitResult:
            self.asked.append(params)
            answer = next(left)
            if isinstance(answer, str):
                return ElicitResult(action=answer)  # type: ignore[arg-type]
            return ElicitResult(action="accept", content=answer)

        try:
            callback = elicit if answers is not None else None
            async with Client(server.sdk, mode=self.mode, elicitation_callback=callback) as client:  # type: ignore[arg-type]
                try:
                    return await use(client)
                except MCPError as error:  # the client's task group would put it into an exception group
                    refused = error
            raise refused
        finally:
            await server.close()

    async def note(self, done: float, total: float | None, message: str | None) -> None:
        """Keep a note of progress."""
        self.progress.append(message or "")


@pytest.fixture(params=["legacy", "2026-07-28"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


def calls(name: str, *arguments: dict[str, Any]) -> Callable[[Client], Coroutine[Any, Any, Any]]:
    """Calls a tool once with each of `arguments`; the last result, or all of them."""

    async def use(client: Client) -> Any:
        results = [await client.call_tool(name, one) for one in arguments]
        return results[0] if len(results) == 1 else results

    return use


@pytest.fixture
def call() -> Callable[..., Any]:
    return calls
