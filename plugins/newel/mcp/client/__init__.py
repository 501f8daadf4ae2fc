"""The client of MCP servers: sessions over the `mcp` SDK, which its modules import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.mcp.client.connection import Connection as Connection
    from newel.mcp.client.connection import plain as plain
    from newel.mcp.client.pool import Pool as Pool

_WHERE = {
    "Connection": "newel.mcp.client.connection",
    "Pool": "newel.mcp.client.pool",
    "plain": "newel.mcp.client.connection",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
