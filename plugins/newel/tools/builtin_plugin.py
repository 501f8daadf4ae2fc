"""The plugin of the tools that newel brings along: agent files name them, and LangChain's tools are adapted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from pydantic import BaseModel, Field

from newel_kernel import BaseAgent, hookimpl
from newel.tools.kinds import ToolAdapter, ToolFactory

_READY = {
    "code_execution": "newel.tools.server_tools:code_execution",
    "enterprise_web_search": "newel.tools.server_tools:enterprise_web_search_tool",
    "exit_loop": "newel.tools.exit_loop_tool:exit_loop",
    "get_user_choice": "newel.tools.get_user_choice_tool:get_user_choice_tool",
    "google_maps_grounding": "newel.tools.server_tools:google_maps_grounding",
    "google_search": "newel.tools.server_tools:google_search",
    "load_artifacts": "newel.tools.load_artifacts_tool:load_artifacts_tool",
    "load_memory": "newel.tools.load_memory_tool:load_memory_tool",
    "load_web_page": "newel.tools.load_web_page:load_web_page",
    "preload_memory": "newel.tools.preload_memory_tool:preload_memory_tool",
    "url_context": "newel.tools.server_tools:url_context",
}


class Settings(BaseModel, extra="forbid"):
    """Settings of the built-in tools."""

    #: What load_web_page may fetch besides public hosts: host names, host:port, addresses, networks.
    web_allow: list[str] = Field(default_factory=list)
    web_max_bytes: int = Field(default=5_000_000, gt=0)
    #: For one page, redirects included.
    web_seconds: float = Field(default=20.0, gt=0)


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _agent(agent: BaseAgent, skip_summarization: bool = False, include_plugins: bool = True) -> Any:
    make = _load("newel.tools.agent_tool:AgentTool")
    return make(agent, skip_summarization, include_plugins=include_plugins)


def _long_running(func: Callable[..., Any]) -> Any:
    return _load("newel.tools.long_running_tool:LongRunningFunctionTool")(func)


def _examples(examples: list[Any]) -> Any:
    return _load("newel.tools.example_tool:ExampleTool")(examples)


def _vertex_ai_search(**options: Any) -> Any:
    return _load("newel.tools.server_tools:VertexAiSearchTool")(**options)


_MADE: dict[str, Callable[..., Any]] = {
    "AgentTool": _agent,
    "ExampleTool": _examples,
    "LongRunningFunctionTool": _long_running,
    "VertexAiSearchTool": _vertex_ai_search,
}


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_tool_factories() -> list[ToolFactory]:
    """Ready tools and functions by their public names, and classes that take arguments."""
    ready = [ToolFactory(name=name, create=partial(_load, place)) for name, place in _READY.items()]
    return ready + [ToolFactory(name=name, create=make) for name, make in _MADE.items()]


@hookimpl
def register_tool_adapters() -> list[ToolAdapter]:
    """LangChain's tools, told by how they look: nothing of LangChain is imported."""

    def accepts(entry: Any) -> bool:
        # Asked for every function as well: the module loads only for what can be one.
        return hasattr(entry, "args_schema") and bool(_load("newel.tools.langchain_tool:looks_like")(entry))

    def adapt(entry: Any) -> Any:
        return _load("newel.tools.langchain_tool:LangchainTool")(entry)

    return [ToolAdapter(name="langchain", accepts=accepts, adapt=adapt)]
