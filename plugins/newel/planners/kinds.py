"""The kind `Planner`."""

from __future__ import annotations

from collections.abc import Sequence

from newel_compose import Factory
from newel_kernel import Settings, hookspec


class Planner(Factory):
    """`create` gives a BasePlanner."""


@hookspec
def register_planners(settings: Settings) -> Sequence[Planner]:
    """Planners. Makes a planner.

    >>> def chess(**settings):
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_planners(self):
    ...         return [Planner(name="chess", create=chess)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(Planner, "chess").name
    'chess'
    """
    return ()
