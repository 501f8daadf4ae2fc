"""The plugin of function tools: plain functions in an agent's `tools`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import BaseModel

from newel import tools
from newel.tools.kinds import ToolAdapter
from newel_kernel import BaseTool, hookimpl


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of function tools."""

    #: Put the docstring's parameter descriptions into the schema, rather than only into the tool's description.
    describe_parameters: bool = False
    #: Refuse arguments that do not fit their annotations, and coerce those that do.
    validate_arguments: bool = False


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_tool_adapters(settings: Mapping[str, Settings]) -> list[ToolAdapter]:
    """Any callable becomes a FunctionTool."""
    options = settings["function_tools"]

    def adapt(function: Callable[..., object]) -> BaseTool:
        return tools.FunctionTool(function, describe_parameters=options.describe_parameters)

    return [ToolAdapter(name="functions", accepts=callable, adapt=adapt, fallback=True)]
