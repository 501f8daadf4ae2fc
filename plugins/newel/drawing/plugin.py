"""The plugin that draws agents in notebooks; the drawing itself loads when one is shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from newel_kernel import BaseAgent, hookimpl
from newel.drawing.kinds import Display


def _show(agent: BaseAgent, **asked: Any) -> Any:
    return import_module("newel.drawing.notebook").shown(agent, **asked)


@hookimpl
def register_displays() -> list[Display]:
    """The agent tree as a drawing."""
    return [Display(name="notebook", create=_show, description="What an agent is made of, as SVG.")]
