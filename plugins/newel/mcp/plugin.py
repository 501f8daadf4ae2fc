"""The plugin of the client of MCP servers."""

from __future__ import annotations

from pydantic import BaseModel

from newel.mcp.settings import Settings
from newel_kernel import hookimpl


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings
