"""The plugin of the kinds that make tools."""

from __future__ import annotations

from newel.tools import hookspecs, kinds
from newel_kernel import Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The tools that files can name, and the adapters."""
    return [
        Kind(kinds.ToolFactory, hookspecs.register_tool_factories),
        Kind(kinds.ToolAdapter, hookspecs.register_tool_adapters),
    ]
