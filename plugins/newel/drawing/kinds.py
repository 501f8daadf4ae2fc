"""The kind `Display`."""

from __future__ import annotations

from collections.abc import Sequence

from newel_compose import Factory
from newel_kernel import Settings, hookspec


class Display(Factory):
    """`create` gives the forms in which a notebook may show an agent, by MIME type.

    Its keywords `include` and `exclude` are the types to show, or to leave out; None or empty: no restriction.
    """


@hookspec
def register_displays(settings: Settings) -> Sequence[Display]:
    """How a notebook shows an agent: the possible forms, by MIME type.

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
