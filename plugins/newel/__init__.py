"""newel: an agent runtime whose every part is a plugin.

The most used names, which load when first used. An agent is an `Agent` with a `model`, an `instruction` and
`tools`; `run(agent, "...")` gives its answer, a `Runner` its events. A plugin is a `BasePlugin`, or anything with
`@hookimpl` functions. The rest is in the sub-packages, under the names of `google.adk`: `newel.agents`, `newel.tools`,
`newel.models`, `newel.sessions`, `newel.plugins`, `newel.testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel import types as types
    from newel.agents import Agent as Agent
    from newel.agents import BaseAgent as BaseAgent
    from newel.apps import App as App
    from newel.contexts.context import Context as Context
    from newel.plugins import BasePlugin as BasePlugin
    from newel.runners import InMemoryRunner as InMemoryRunner
    from newel.runners import Runner as Runner
    from newel.runners.answer import Waiting as Waiting
    from newel.runners.answer import arun as arun
    from newel.runners.answer import run as run
    from newel.tools.decorator import tool as tool
    from newel.workflow import Workflow as Workflow
    from newel_kernel import API as API
    from newel_kernel import Event as Event
    from newel_kernel import hookimpl as hookimpl

    __version__: str

__all__ = [
    "API",
    "Agent",
    "App",
    "BaseAgent",
    "BasePlugin",
    "Context",
    "Event",
    "InMemoryRunner",
    "Runner",
    "Waiting",
    "Workflow",
    "__version__",
    "arun",
    "hookimpl",
    "run",
    "tool",
    "types",
]

_WHERE = {
    "API": "newel_kernel",
    "Agent": "newel.agents.llm_agent",
    "App": "newel.apps.app",
    "BaseAgent": "newel.agents.base_agent",
    "BasePlugin": "newel.plugins.base_plugin",
    "Context": "newel.contexts.context",
    "Event": "newel_kernel",
    "InMemoryRunner": "newel.runners",
    "Runner": "newel.runners",
    "Waiting": "newel.runners.answer",
    "Workflow": "newel.workflow",
    "__version__": "newel.version:VERSION",
    "arun": "newel.runners.answer",
    "hookimpl": "newel_kernel",
    "run": "newel.runners.answer",
    "tool": "newel.tools.decorator",
    "types": "newel.types:",
}

#: Errors are told with a line of the code that newel calls, not with one of this package.
__tracebackhide__ = True

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
