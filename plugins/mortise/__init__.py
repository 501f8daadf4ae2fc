"""mortise: an agent runtime whose every part is a plugin.

The names everybody uses; they load when first used. The rest is in the sub-packages.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise import types as types
    from mortise.agents import Agent as Agent
    from mortise.agents import Context as Context
    from mortise.apps import App as App
    from mortise.events import Event as Event
    from mortise.runners import Runner as Runner
    from mortise.shortcuts import run as run
    from mortise.shortcuts import tool as tool
    from mortise.workflow import Workflow as Workflow

_WHERE = {
    "Agent": "mortise.agents.llm_agent",
    "App": "mortise.apps.app",
    "Context": "mortise_kernel.context",
    "Event": "mortise_kernel.events",
    "Runner": "mortise.runners",
    "Workflow": "mortise.workflow.workflow",
    "run": "mortise.shortcuts",
    "tool": "mortise.shortcuts",
}

_name, _names = lazy_exports(__name__, _WHERE)


def __getattr__(name: str) -> object:
    return import_module("mortise.types") if name == "types" else _name(name)


def __dir__() -> list[str]:
    return [*_names(), "types"]
