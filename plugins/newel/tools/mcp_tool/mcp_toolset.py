"""The released module of McpToolset."""

from __future__ import annotations

from newel.mcp.toolset import McpToolset as McpToolset
from newel.mcp.toolset_config import ALLOW_CONFIG_STDIO_SERVERS_ENV_VAR as ALLOW_CONFIG_STDIO_SERVERS_ENV_VAR
from newel.mcp.toolset_config import McpToolsetConfig as McpToolsetConfig

MCPToolset = McpToolset
