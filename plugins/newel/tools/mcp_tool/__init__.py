"""The released module of tools of MCP servers; the code is in `newel.mcp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.mcp.conversion import gemini_to_json_schema as gemini_to_json_schema
    from newel.mcp.conversion import mcp_tool_of
    from newel.mcp.parameters import SseConnectionParams as SseConnectionParams
    from newel.mcp.parameters import StdioConnectionParams as StdioConnectionParams
    from newel.mcp.parameters import StreamableHTTPConnectionParams as StreamableHTTPConnectionParams
    from newel.mcp.tool import McpTool as McpTool
    from newel.mcp.toolset import McpToolset as McpToolset
    from newel.mcp_server import to_mcp_server as to_mcp_server

    adk_to_mcp_tool_type = mcp_tool_of
    MCPTool = McpTool
    MCPToolset = McpToolset

_WHERE = {
    "MCPTool": "newel.mcp.tool:McpTool",
    "MCPToolset": "newel.mcp.toolset:McpToolset",
    "McpTool": "newel.mcp.tool",
    "McpToolset": "newel.mcp.toolset",
    "SseConnectionParams": "newel.mcp.parameters",
    "StdioConnectionParams": "newel.mcp.parameters",
    "StreamableHTTPConnectionParams": "newel.mcp.parameters",
    "adk_to_mcp_tool_type": "newel.mcp.conversion:mcp_tool_of",
    "gemini_to_json_schema": "newel.mcp.conversion",
    "to_mcp_server": "newel.mcp_server",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
