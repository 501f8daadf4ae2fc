"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.drawing.kinds import Display
from newel_kernel import Settings, hookspec


@hookspec
def register_displays(settings: Settings) -> Sequence[Display]:
    """How a notebook shows an agent: what it may show, by MIME type.

    >>> def in_bold(agent, **options):
    ...     return {"text/markdown": f"**{agent.name}**"}
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_displays(self):
    ...         return [Display(name="bold", create=in_bold)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(Display, "bold").create(BaseAgent(name="weather"), include=None, exclude=None)
    {'text/markdown': '**weather**'}
    """
    return ()
