"""The plugin of OpenAPI documents: their operations as tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from newel.openapi.settings import Settings
from newel.tools.kinds import ToolFactory
from newel_kernel import BaseToolset, ConfigurationError, Json, hookimpl
from newel_types import deferred

_toolset = deferred("newel.openapi.toolset", "OpenAPIToolset")


# An agent file's arguments are read as this signature says. It cannot allow private addresses: `settings` can.
def _create(
    spec_file: Path | None = None,
    spec_dict: Json | None = None,
    auth_scheme: Json | None = None,
    credential_key: str | None = None,
    tool_filter: list[str] | None = None,
    tool_name_prefix: str | None = None,
    preserve_property_names: bool = False,
    server: str | None = None,
    server_variables: Mapping[str, str] | None = None,
) -> BaseToolset:
    if (spec_file is None) == (spec_dict is None):
        raise ConfigurationError("OpenAPIToolset needs either `spec_file`, a document, or `spec_dict`, its content")
    options: dict[str, Any] = {
        "spec_file": spec_file,
        "spec_dict": spec_dict,
        "auth_scheme": auth_scheme,
        "credential_key": credential_key,
        "tool_filter": tool_filter,
        "tool_name_prefix": tool_name_prefix,
        "preserve_property_names": preserve_property_names,
        "server": server,
        "server_variables": server_variables,
    }
    toolset: BaseToolset = _toolset()(**options)
    return toolset


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_tool_factories() -> list[ToolFactory]:
    """The toolset, which agent files can name."""
    return [ToolFactory(name="OpenAPIToolset", create=_create)]
