"""The released module of McpTool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.mcp.tool import McpTool as McpTool
from newel.mcp.tool import ProgressCallback as ProgressCallbackFactory
from newel_types import lazy_exports

if TYPE_CHECKING:
    from mcp.types import Tool as McpBaseTool  # noqa: F401 - a released name

MCPTool = McpTool
ProgressFnT = ProgressCallbackFactory
# The SDK's own, which is imported with it.
__getattr__, __dir__ = lazy_exports(__name__, {"McpBaseTool": "mcp.types:Tool"})
