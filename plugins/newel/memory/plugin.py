"""The plugin of the kind that stores memories."""

from __future__ import annotations

from newel.memory import kinds
from newel_kernel import Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The stores of memories."""
    return [Kind(kinds.MemoryBackend, kinds.register_memory_backends)]
