"""The plugin of agents as MCP servers: ``/apps/{app_name}/mcp`` on the API server."""

from __future__ import annotations

from newel.server.kinds import Route
from newel_kernel import hookimpl
from newel_types import deferred

_PATH = "/apps/{app_name}/mcp"
_mcp = deferred("newel.mcp_server.mounted", "mcp")


@hookimpl
def register_routes() -> list[Route]:
    """The endpoint of each app. A client opens, asks and closes."""
    return [
        Route(name=f"mcp_{method.lower()}", method=method, path=_PATH, load=_mcp)
        for method in ("POST", "GET", "DELETE")
    ]
