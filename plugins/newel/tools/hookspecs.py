"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.tools.kinds import ToolAdapter, ToolFactory
from newel_kernel import Settings, hookspec


@hookspec
def register_tool_factories(settings: Settings) -> Sequence[ToolFactory]:
    """Tools that an agent file can name. Makes a tool from the arguments in the file.

    >>> def dice(sides=6):
    ...     return lambda: sides
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_tool_factories(self):
    ...         return [ToolFactory(name="dice", create=dice)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(ToolFactory, "dice").name
    'dice'
    """
    return ()


@hookspec
def register_tool_adapters(settings: Settings) -> Sequence[ToolAdapter]:
    """Adapters of foreign tools. Turns objects in an agent's `tools` that are no tools into tools.

    >>> def is_magic(entry):
    ...     return isinstance(entry, range)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_tool_adapters(self):
    ...         return [ToolAdapter(name="ranges", accepts=is_magic, adapt=list)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(ToolAdapter, "ranges").name
    'ranges'
    """
    return ()
