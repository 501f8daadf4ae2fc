"""The kind `MemoryBackend`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from newel.memory.base_memory_service import BaseMemoryService
from newel_compose import Backend
from newel_kernel import Kind, Settings, hookimpl, hookspec


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBackend(Backend[BaseMemoryService]):
    """Opens a memory service from a URI of the scheme `name`."""

    service: ClassVar[str] = "memory"


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


@hookimpl
def register_kinds() -> list[Kind[Any]]:
    """The stores of memories."""
    return [Kind(MemoryBackend, register_memory_backends)]
