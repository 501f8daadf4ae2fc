"""The plugin that draws agents in notebooks; the drawing itself loads when one is shown."""

from __future__ import annotations

from newel.drawing import kinds
from newel.drawing.kinds import Display
from newel_kernel import BaseAgent, Descriptor, Kind, hookimpl
from newel_types import deferred

_mime_bundle = deferred("newel.drawing.notebook", "mime_bundle")


def _show(agent: BaseAgent, **options: object) -> object:
    return _mime_bundle()(agent, **options)


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """How notebooks show agents."""
    return [Kind(kinds.Display, kinds.register_displays, order="displays", open_ended=True)]


@hookimpl
def register_displays() -> list[Display]:
    """The agent tree as a drawing."""
    return [Display(name="notebook", create=_show, description="What an agent is made of, as SVG.")]
