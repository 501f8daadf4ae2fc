"""The released module of McpTool."""

from __future__ import annotations

from newel.mcp.tool import McpTool as McpTool
from newel.mcp.tool import ProgressCallback as ProgressCallbackFactory

MCPTool = McpTool
ProgressFnT = ProgressCallbackFactory
