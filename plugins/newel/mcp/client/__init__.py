"""The client of MCP servers: sessions over the `mcp` SDK, which its modules import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.mcp.client.connection import Connection as Connection
    from newel.mcp.client.connection import plain as plain
    from newel.mcp.client.offers import instructions as instructions
    from newel.mcp.client.offers import prompt as prompt
    from newel.mcp.client.offers import prompts as prompts
    from newel.mcp.client.offers import read as read
    from newel.mcp.client.offers import resources as resources
    from newel.mcp.client.pool import Pool as Pool

_WHERE = {
    "Connection": "newel.mcp.client.connection",
    "Pool": "newel.mcp.client.pool",
    "instructions": "newel.mcp.client.offers",
    "prompt": "newel.mcp.client.offers",
    "prompts": "newel.mcp.client.offers",
    "read": "newel.mcp.client.offers",
    "resources": "newel.mcp.client.offers",
    "plain": "newel.mcp.client.connection",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
