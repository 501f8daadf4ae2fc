"""Mounted: the MCP servers of the API server's apps, behind its own door."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.responses import Response

from newel.server.calls import Call, endpoint
from newel.server.refusals import JSON, Refusal
from newel_kernel import Json, Key, seam
from newel_types import deferred

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from newel.mcp_server.agent_server import AgentServer

#: Where a request says who calls.
_CALLER = "newel.caller"
#: The statuses of MCP's own errors.
_ERRORS = (400, 404, 406, 409)
# The SDK is imported with the first request: few servers are asked for MCP, and some do not have it.
_agent_server = deferred("newel.mcp_server.agent_server", "AgentServer")
_SERVERS: Key[dict[str, Mounted]] = Key("mcp_servers")


class Mounted:
    """The MCP server of one app. A task of its own holds the SDK's scopes open, whichever request came first."""

    def __init__(self, server: AgentServer) -> None:
        app = server.http_app("/", hosts=None)
        self._app: ASGIApp = app
        self._manager = server.sdk.session_manager
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._task = seam.spawn(self._hold(), name="mcp server")

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._ready.wait()
        await self._app({**scope, "path": "/", "raw_path": b"/", "root_path": ""}, receive, send)

    async def close(self) -> None:
        """End all sessions of clients."""
        self._over.set()
        await asyncio.wait([self._task])

    async def _hold(self) -> None:
        try:
            async with self._manager.run():
                self._ready.set()
                await self._over.wait()
        finally:
            self._ready.set()


class _Handed(Response):
    """An answer that an ASGI app gives."""

    def __init__(self, serve: Callable[[Scope, Receive, Send], object], user: str | None) -> None:
        super().__init__()
        self._serve = serve
        self._user = user

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._serve({**scope, _CALLER: self._user}, receive, send)  # type: ignore[misc]


@endpoint(others=dict.fromkeys(_ERRORS, Json))
async def mcp(call: Call) -> object:
    """The app as an MCP server: its agent as a tool."""
    if call.request.method == "POST" and not call.request.headers.get("content-type", "").startswith(JSON):
        raise Refusal(415, "send application/json")
    name = call.path["app_name"]
    servers = call.server.stash.setdefault(_SERVERS, {})
    if name not in servers:
        try:
            agent_server = _agent_server()
        except ImportError as error:
            raise Refusal(501, f"MCP needs {error.name} on the server: pip install 'newel[mcp]'") from error
        runner = await call.server.runner(name)
        if name not in servers:
            servers[name] = Mounted(agent_server(runner, user_of=_caller))
            call.server.closing.append(servers[name])
    return _Handed(servers[name].serve, call.user)


def _caller(request: Request) -> str | None:
    user: str | None = request.scope.get(_CALLER)
    return user
