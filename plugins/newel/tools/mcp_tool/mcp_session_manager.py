"""The released module of sessions with MCP servers; the code is in `newel.mcp`."""

from __future__ import annotations

from newel.mcp.parameters import CheckableMcpHttpClientFactory as CheckableMcpHttpClientFactory
from newel.mcp.parameters import SseConnectionParams as SseConnectionParams
from newel.mcp.parameters import StdioConnectionParams as StdioConnectionParams
from newel.mcp.parameters import StreamableHTTPConnectionParams as StreamableHTTPConnectionParams
from newel.mcp.sessions import MCPSessionManager as MCPSessionManager

SseServerParams = SseConnectionParams
StreamableHTTPServerParams = StreamableHTTPConnectionParams
