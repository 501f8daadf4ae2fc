"""Processes: an agent's MCP server by itself, on stdin and stdout or under uvicorn."""

from __future__ import annotations

import socket

import uvicorn

from newel.mcp_server.agent_server import AgentServer
from newel.server.middleware import wrapped
from newel.server.operations.listening import listen
from newel.server.options import Options
from newel.server.process import uvicorn_settings

_PATH = "/mcp"


async def serve_http(server: AgentServer, options: Options) -> None:
    """Serve at ``/mcp``, within the API server's guards, until a signal ends it."""
    try:
        await server.offers()
        sockets = listen(options.host, options.port)
        config = uvicorn.Config(
            wrapped(server.http_app(_PATH, hosts=None), options), lifespan="on", **uvicorn_settings(options)
        )
        await _Announcing(config, options.guards.token).serve(sockets)
    finally:
        await server.close()


class _Announcing(uvicorn.Server):
    """Says once where it is, and what a client must send."""

    def __init__(self, config: uvicorn.Config, token: str | None) -> None:
        super().__init__(config)
        self._token = token

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        for server in self.servers:
            host, port = server.sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"http://{shown}:{port}{_PATH}", flush=True)
            if self._token is not None:
                print(f"Authorization: Bearer {self._token}", flush=True)
            return
