"""The kind `Display`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from newel_kernel import Settings, Stage, hookspec


@dataclass(frozen=True, slots=True, kw_only=True)
class Display(Stage):
    """`create` gives the forms in which a notebook may show an agent, by MIME type.

    Its keywords `include` and `exclude` are the types to show, or to leave out; None or empty: no restriction.
    Of two displays with a form of the same type the first in the order counts.
    """

    create: Callable[..., Any]
    description: str = ""


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
