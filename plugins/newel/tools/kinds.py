"""The kinds of plugins for tools: tools that agent files can name, and adapters of foreign objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from newel_compose import Factory
from newel_kernel import BaseTool, Chains, ConfigurationError, Settings, Stage, hookspec


class ToolFactory(Factory):
    """`create` gives a tool, which an agent file can name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAdapter(Stage):
    """Turns a foreign object in an agent's `tools` (such as a function) into a tool."""

    accepts: Callable[[object], bool]
    adapt: Callable[[Any], BaseTool]
    #: Asked only after every adapter that is not a fallback: it accepts a whole kind (such as any callable).
    fallback: bool = False

    @property
    def phase(self) -> int:
        """Fallbacks come last."""
        return int(self.fallback)


@runtime_checkable
class Configurable(Protocol):
    """A tool that looks at the settings of the distribution before it declares itself."""

    def __newel_configure__(self, settings: Mapping[str, object]) -> None:
        """Take in the settings, by the names of their plugins."""


def adapt_tool(chains: Chains, entry: object) -> BaseTool:
    """An entry of an agent's tools as a tool: configured, or made by the first adapter that accepts it."""
    if isinstance(entry, BaseTool):
        if isinstance(entry, Configurable):
            entry.__newel_configure__(chains.settings)
        return entry
    adapters = chains.registry.all(ToolAdapter)
    for adapter in adapters:
        if adapter.accepts(entry):
            return adapter.adapt(entry)
    names = ", ".join(sorted(adapter.name for adapter in adapters)) or "none"
    remedy = "; give the function itself, without quotes or a call" if isinstance(entry, str) else ""
    raise ConfigurationError(
        f"{entry!r} is not a tool: no adapter accepts it (adapters: {names}){remedy}"
        f"{chains.registry.why_missing(ToolAdapter)}"
    )


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
    """Adapters of foreign tools. Turns objects in an agent's `tools` that are not tools into tools.

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
