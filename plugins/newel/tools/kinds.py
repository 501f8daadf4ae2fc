"""The kinds of the tools room: tools that agent files can name, and adapters of foreign objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from newel_compose import Factory
from newel_kernel import BaseTool, Chains, ConfigurationError, Descriptor


class ToolFactory(Factory):
    """`create` gives a tool, which an agent file can name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAdapter(Descriptor):
    """Turns a foreign object in an agent's `tools` (a function, say) into a tool."""

    accepts: Callable[[object], bool]
    adapt: Callable[[Any], BaseTool]
    #: Asked only after every adapter that is none: it accepts a whole kind (any callable, say).
    fallback: bool = False


def adapt_tool(chains: Chains, entry: object) -> BaseTool:
    """A tool made of a foreign object, by the first adapter that accepts it."""
    adapters = chains.registry.all(ToolAdapter)
    for adapter in sorted(adapters, key=lambda adapter: adapter.fallback):
        if adapter.accepts(entry):
            return adapter.adapt(entry)
    names = ", ".join(sorted(adapter.name for adapter in adapters)) or "none"
    raise ConfigurationError(
        f"{entry!r} is no tool: no adapter accepts it (adapters: {names})"
        f"{chains.registry.why_missing(ToolAdapter)}"
    )
