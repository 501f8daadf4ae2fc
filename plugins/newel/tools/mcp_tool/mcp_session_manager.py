"""The released module of sessions with MCP servers; the code is in `newel.mcp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.mcp.parameters import CheckableMcpHttpClientFactory as CheckableMcpHttpClientFactory
from newel.mcp.parameters import SseConnectionParams as SseConnectionParams
from newel.mcp.parameters import StdioConnectionParams as StdioConnectionParams
from newel.mcp.parameters import StreamableHTTPConnectionParams as StreamableHTTPConnectionParams
from newel.mcp.sessions import MCPSessionManager as MCPSessionManager
from newel_types import lazy_exports

if TYPE_CHECKING:
    from mcp.shared._httpx_utils import create_mcp_http_client as create_mcp_http_client

SseServerParams = SseConnectionParams
StreamableHTTPServerParams = StreamableHTTPConnectionParams

# The SDK's own, which is imported with it.
__getattr__, __dir__ = lazy_exports(__name__, {"create_mcp_http_client": "mcp.shared._httpx_utils"})
