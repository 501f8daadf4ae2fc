"""The plugin of the kinds that memories are made of."""

from __future__ import annotations

from newel.memory import kinds
from newel_kernel import Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The stores of memories, and the embedders that their URIs name."""
    return [
        Kind(kinds.MemoryBackend, kinds.register_memory_backends),
        Kind(kinds.EmbedderFactory, kinds.register_embedders),
    ]
