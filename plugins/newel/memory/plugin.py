"""The plugin of the kind that stores memories."""

from __future__ import annotations

from typing import Any

from newel.memory import hookspecs, kinds
from newel_kernel import Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Any]]:
    """The stores of memories."""
    return [Kind(kinds.MemoryBackend, hookspecs.register_memory_backends)]
