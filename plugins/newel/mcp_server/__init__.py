"""An agent as an MCP server: itself as one tool, or its tools one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.mcp_server.agent_server import AgentServer as AgentServer
    from newel.mcp_server.agent_server import to_mcp_server as to_mcp_server

_WHERE = {
    "AgentServer": "newel.mcp_server.agent_server",
    "to_mcp_server": "newel.mcp_server.agent_server",
}

__all__ = ["AgentServer", "to_mcp_server"]
__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
