"""The plugin of in-process memory: the URI ``memory:``."""

from __future__ import annotations

from newel import memory
from newel.memory.kinds import MemoryBackend
from newel_kernel import hookimpl


@hookimpl
def register_memory_backends() -> list[MemoryBackend]:
    """The scheme ``memory``; each opening is a store of its own."""
    return [MemoryBackend(name="memory", open=lambda uri: memory.InMemoryMemoryService())]
