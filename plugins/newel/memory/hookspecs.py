"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.memory.kinds import MemoryBackend
from newel_kernel import Settings, hookspec


@hookspec
def register_memory_backends(settings: Settings) -> Sequence[MemoryBackend]:
    """Memory services. Opens a memory service from a URI of its scheme.

    >>> def open_memory(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_memory_backends(self):
    ...         return [MemoryBackend(name="elephant", open=open_memory)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(MemoryBackend, "elephant").name
    'elephant'
    """
    return ()
