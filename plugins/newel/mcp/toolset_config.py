"""McpToolsetConfig: a toolset in an agent file."""

from __future__ import annotations

import os
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from newel.mcp.parameters import (
    SseConnectionParams,
    StdioConnectionParams,
    StdioServerParameters,
    StreamableHTTPConnectionParams,
)
from newel.mcp.settings import Settings
from newel.mcp.toolset import McpToolset
from newel_kernel import ConfigurationError, Json, did_you_mean
from newel_types import AuthCredential

#: The commands that agent files may start, one on each line or between commas: ``python /srv/notes.py``.
ALLOW_CONFIG_STDIO_SERVERS_ENV_VAR = "NEWEL_MCP_STDIO_SERVERS"
_WAYS = ("stdio_server_params", "stdio_connection_params", "sse_connection_params", "streamable_http_connection_params")


class McpToolsetConfig(BaseModel):
    """The arguments of a toolset in an agent file: one way to reach the server, and what is done with its tools."""

    model_config = ConfigDict(extra="forbid")

    stdio_server_params: StdioServerParameters | None = None
    stdio_connection_params: StdioConnectionParams | None = None
    sse_connection_params: SseConnectionParams | None = None
    streamable_http_connection_params: StreamableHTTPConnectionParams | None = None
    tool_filter: list[str] | None = None
    tool_name_prefix: str | None = None
    tool_list_cache_ttl_seconds: float | None = Field(default=None, gt=0)
    auth_scheme: dict[str, Any] | None = None
    auth_credential: AuthCredential | None = None
    credential_key: str | None = None
    use_mcp_resources: bool = False
    require_confirmation: bool = False
    required: bool = True
    trusted: bool = False
    pins: dict[str, str] | None = None

    def arguments(self, *, trusted_command: bool = False) -> dict[str, Any]:
        """The arguments of the toolset; raises ConfigurationError if an agent file may not start this command."""
        given = [name for name in _WAYS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ConfigurationError(f"an MCP toolset needs exactly one of {', '.join(_WAYS)}; it has {len(given)}")
        params = getattr(self, given[0])
        if isinstance(params, StdioServerParameters):
            params = StdioConnectionParams(server_params=params)
        if isinstance(params, StdioConnectionParams) and not trusted_command:
            _check_allowed(params)
        others = {name: getattr(self, name) for name in type(self).model_fields if name not in _WAYS}
        return {"connection_params": params, **others}


def toolset_of(given: Json, server: str | None, settings: Settings) -> McpToolset:
    """The toolset of an agent file: with its own parameters, or of a server that the settings name."""
    changed = {name: value for name, value in given.items() if value != _DEFAULTS.get(name)}
    if server is None:
        return McpToolset(**parsed(changed, "an agent file").arguments())
    return McpToolset(**named(server, settings, changed).arguments(trusted_command=True))


def named(server: str, settings: Settings, changed: Json | None = None) -> McpToolsetConfig:
    """A server of the settings, with what an agent file changes; raises ConfigurationError if there is none."""
    if server not in settings.servers:
        raise ConfigurationError(
            f"the settings name no MCP server {server!r}{did_you_mean(server, settings.servers)}: "
            f"settings: mcp.servers has {', '.join(sorted(settings.servers)) or 'none'}"
        )
    if reached := [name for name in changed or () if name in _WAYS]:
        raise ConfigurationError(f"an agent file that names the MCP server {server!r} cannot set {reached[0]} too")
    return parsed({**settings.servers[server], **(changed or {})}, f"settings: mcp.servers.{server}")


def parsed(given: Json, where: str) -> McpToolsetConfig:
    """The arguments of a toolset; `where` they stand is named in a ConfigurationError."""
    try:
        return McpToolsetConfig.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
            for one in error.errors(include_url=False, include_input=False)
        )
        raise ConfigurationError(f"{where}: an MCP toolset cannot be made of this: {problems}") from None


def _check_allowed(params: StdioConnectionParams) -> None:
    server = params.server_params
    command = " ".join([*params.sandbox, server.command, *server.args])
    listed = os.environ.get(ALLOW_CONFIG_STDIO_SERVERS_ENV_VAR, "").replace("\n", ",").split(",")
    if command not in {one.strip() for one in listed}:
        raise ConfigurationError(
            f"an agent file may not start the command {server.command!r} of an MCP server: name a server of the "
            f"distribution (settings: mcp.servers), or let the environment variable "
            f"{ALLOW_CONFIG_STDIO_SERVERS_ENV_VAR} list the whole command line"
        )


#: What an agent file that says nothing says.
_DEFAULTS = {name: field.default for name, field in McpToolsetConfig.model_fields.items()}
