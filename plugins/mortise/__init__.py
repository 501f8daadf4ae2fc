"""mortise: an agent runtime whose every part is a plugin.

The names everybody uses; they load when first used. The rest is in the sub-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise import types as types
    from mortise.agents import Agent as Agent
    from mortise.agents import Context as Context
    from mortise.events import Event as Event
    from mortise.runners import Runner as Runner

_WHERE = {
    "Agent": "mortise.agents.llm_agent",
    "Context": "mortise_kernel.context",
    "Event": "mortise_kernel.events",
    "Runner": "mortise.runners",
    "types": "mortise.types",
}

_lazy, __dir__ = lazy_exports(__name__, _WHERE)


def __getattr__(name: str) -> object:
    if name == "types":  # a module, not a name in one
        from importlib import import_module

        return import_module("mortise.types")
    return _lazy(name)
