"""The plugin of the kinds that make tools."""

from __future__ import annotations

from newel.tools import kinds
from newel_kernel import Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The tools that files can name, and the adapters."""
    return [
        Kind(kinds.ToolFactory, kinds.register_tool_factories),
        Kind(kinds.ToolAdapter, kinds.register_tool_adapters, order="tool_adapters", open_ended=True),
    ]
