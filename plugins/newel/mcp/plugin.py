"""The plugin of the client of MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel

from newel.mcp.settings import Settings
from newel.tools.kinds import ToolFactory
from newel_kernel import BaseToolset, Json, hookimpl
from newel_types import deferred

_toolset_of = deferred("newel.mcp.toolset_config", "toolset_of")


# An agent file's arguments are read as this signature says.
def _toolset(
    settings: Settings,
    *,
    server: str | None = None,
    stdio_server_params: Json | None = None,
    stdio_connection_params: Json | None = None,
    sse_connection_params: Json | None = None,
    streamable_http_connection_params: Json | None = None,
    tool_filter: list[str] | None = None,
    tool_name_prefix: str | None = None,
    tool_list_cache_ttl_seconds: float | None = None,
    auth_scheme: Json | None = None,
    auth_credential: Json | None = None,
    credential_key: str | None = None,
    use_mcp_resources: bool = False,
    require_confirmation: bool = False,
    required: bool = True,
    trusted: bool = False,
    pins: dict[str, str] | None = None,
) -> BaseToolset:
    given = {name: value for name, value in locals().items() if name not in ("settings", "server")}
    made: BaseToolset = _toolset_of()(given, server, settings)
    return made


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_tool_factories(settings: Mapping[str, Settings]) -> list[ToolFactory]:
    """The toolset, under both of its names."""
    create = partial(_toolset, settings["mcp"])
    return [ToolFactory(name=name, create=create) for name in ("McpToolset", "MCPToolset")]
