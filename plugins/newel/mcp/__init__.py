"""MCP: tools, resources and prompts that servers of the Model Context Protocol offer, used by agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.mcp.errors import McpError as McpError
    from newel.mcp.errors import McpUnauthorizedError as McpUnauthorizedError
    from newel.mcp.errors import McpUnreachableError as McpUnreachableError
    from newel.mcp.parameters import SseConnectionParams as SseConnectionParams
    from newel.mcp.parameters import StdioConnectionParams as StdioConnectionParams
    from newel.mcp.parameters import StdioServerParameters as StdioServerParameters
    from newel.mcp.parameters import StreamableHTTPConnectionParams as StreamableHTTPConnectionParams
    from newel.mcp.prompts import McpInstructionProvider as McpInstructionProvider
    from newel.mcp.tool import McpTool as McpTool
    from newel.mcp.toolset import McpToolset as McpToolset

_WHERE = {
    "McpError": "newel.mcp.errors",
    "McpInstructionProvider": "newel.mcp.prompts",
    "McpTool": "newel.mcp.tool",
    "McpToolset": "newel.mcp.toolset",
    "McpUnauthorizedError": "newel.mcp.errors",
    "McpUnreachableError": "newel.mcp.errors",
    "SseConnectionParams": "newel.mcp.parameters",
    "StdioConnectionParams": "newel.mcp.parameters",
    "StdioServerParameters": "newel.mcp.parameters",
    "StreamableHTTPConnectionParams": "newel.mcp.parameters",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
