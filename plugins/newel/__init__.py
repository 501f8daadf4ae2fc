"""newel: an agent runtime whose every part is a plugin.

The names everybody uses; they load when first used. The rest is in the sub-packages.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel import types as types
    from newel.agents import Agent as Agent
    from newel.agents import Context as Context
    from newel.apps import App as App
    from newel.events import Event as Event
    from newel.runners import Runner as Runner
    from newel.runs.answer import run as run
    from newel.tools.decorator import tool as tool
    from newel.workflow import Workflow as Workflow

_WHERE = {
    "Agent": "newel.agents.llm_agent",
    "App": "newel.apps.app",
    "Context": "newel.contexts.context",
    "Event": "newel_kernel",
    "Runner": "newel.runners",
    "Workflow": "newel.workflow",
    "run": "newel.runs.answer",
    "tool": "newel.tools.decorator",
}

_name, _names = lazy_exports(__name__, _WHERE)


def __getattr__(name: str) -> object:
    return import_module("newel.types") if name == "types" else _name(name)


def __dir__() -> list[str]:
    return [*_names(), "types"]
