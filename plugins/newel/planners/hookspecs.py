"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.planners.kinds import Planner
from newel_kernel import Settings, hookspec


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
