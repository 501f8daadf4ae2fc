"""The released module of conversions between tools of agents and of MCP servers."""

from __future__ import annotations

from newel.mcp.conversion import gemini_to_json_schema as gemini_to_json_schema
from newel.mcp.conversion import mcp_tool_of as adk_to_mcp_tool_type

__all__ = ["adk_to_mcp_tool_type", "gemini_to_json_schema"]
