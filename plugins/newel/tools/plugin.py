"""The plugin of function tools: plain functions in an agent's `tools`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from newel.tools.kinds import ToolAdapter
from newel_kernel import hookimpl


class Settings(BaseModel, extra="forbid"):
    """Settings of function tools."""

    #: Put the docstring's parameter descriptions into the schema, rather than only into the tool's description.
    describe_parameters: bool = False
    #: Refuse arguments that do not fit their annotations, and coerce those that do.
    validate_arguments: bool = False


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_tool_adapters(settings: Mapping[str, Any]) -> list[ToolAdapter]:
    """Any callable becomes a FunctionTool."""
    chosen: Settings = settings["function_tools"]

    def adapt(function: Any) -> Any:
        module = import_module("newel.tools.function_tool")
        return module.FunctionTool(function, describe_parameters=chosen.describe_parameters)

    return [ToolAdapter(name="functions", accepts=callable, adapt=adapt, fallback=True)]
