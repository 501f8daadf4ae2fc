"""The released module of McpToolset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.mcp.toolset import McpToolset as McpToolset
from newel.mcp.toolset_config import ALLOW_CONFIG_STDIO_SERVERS_ENV_VAR as ALLOW_CONFIG_STDIO_SERVERS_ENV_VAR
from newel.mcp.toolset_config import McpToolsetConfig as McpToolsetConfig
from newel_types import lazy_exports

if TYPE_CHECKING:
    from mcp.types import Tool as McpBaseTool  # noqa: F401 - a released name

MCPToolset = McpToolset
# The SDK's own, which is imported with it.
__getattr__, __dir__ = lazy_exports(__name__, {"McpBaseTool": "mcp.types:Tool"})
