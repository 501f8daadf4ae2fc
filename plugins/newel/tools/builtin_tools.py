"""The plugin of the tools that newel brings along: agent files name them, and LangChain's tools are adapted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from newel import tools
from newel.tools.kinds import ToolAdapter, ToolFactory
from newel_kernel import BaseAgent, BaseTool, Json, hookimpl
from newel_types import deferred

#: Ready tools and functions, by their public names.
_READY = (
    "code_execution",
    "enterprise_web_search",
    "exit_loop",
    "get_user_choice",
    "google_maps_grounding",
    "google_search",
    "load_artifacts",
    "load_memory",
    "preload_memory",
    "url_context",
)


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the built-in tools."""

    #: What load_web_page may fetch in addition to public hosts: host names, host:port, addresses, networks.
    web_allow: list[str] = []
    #: The most bytes of one page.
    web_max_bytes: int = Field(default=5_000_000, gt=0)
    #: How many seconds one page may take, redirects included.
    web_seconds: float = Field(default=20.0, gt=0)


def _ready(name: str) -> object:
    return getattr(tools, name)


_DECLARATIONS = ("FunctionDeclaration", "Tool")
_declared_tool = deferred("newel.tools.declared_tool", "DeclaredTool")
_is_declaration = deferred("newel.tools.declared_tool", "is_declaration")
_looks_like_langchain = deferred("newel.tools.langchain_tool", "looks_like")
_web_page = deferred("newel.tools.load_web_page", "load_web_page")  # the package's own name for it is the module


# An agent file's arguments are read as these signatures say.
def _agent(agent: BaseAgent, skip_summarization: bool = False, include_plugins: bool = True) -> BaseTool:
    return tools.AgentTool(agent, skip_summarization, include_plugins=include_plugins)


def _examples(examples: list[Json]) -> BaseTool:
    return tools.ExampleTool(examples)


def _long_running(func: Callable[..., object]) -> BaseTool:
    return tools.LongRunningFunctionTool(func)


def _vertex_ai_search(**options: Any) -> BaseTool:
    return tools.VertexAiSearchTool(**options)


#: Classes that take arguments.
_CLASSES: dict[str, Callable[..., BaseTool]] = {
    "AgentTool": _agent,
    "ExampleTool": _examples,
    "LongRunningFunctionTool": _long_running,
    "VertexAiSearchTool": _vertex_ai_search,
}


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_tool_factories() -> list[ToolFactory]:
    """Ready tools and functions by their public names, and classes that take arguments."""
    ready = [ToolFactory(name=name, create=partial(_ready, name)) for name in _READY]
    classes = [ToolFactory(name=name, create=create) for name, create in _CLASSES.items()]
    return [*ready, ToolFactory(name="load_web_page", create=_web_page), *classes]


@hookimpl
def register_tool_adapters() -> list[ToolAdapter]:
    """Google-genai's tools and LangChain's, recognized by name or attributes: neither package is imported."""

    def accepts(entry: object) -> bool:
        # Called for every function as well: the module loads only for what can be such a tool.
        return hasattr(entry, "args_schema") and bool(_looks_like_langchain()(entry))

    def adapt(entry: object) -> BaseTool:
        return tools.LangchainTool(entry)

    def is_declaration(entry: object) -> bool:
        return type(entry).__name__ in _DECLARATIONS and bool(_is_declaration()(entry))

    def declared(entry: object) -> BaseTool:
        tool: BaseTool = _declared_tool()(entry)
        return tool

    return [
        ToolAdapter(name="declarations", accepts=is_declaration, adapt=declared),
        ToolAdapter(name="langchain", accepts=accepts, adapt=adapt),
    ]
