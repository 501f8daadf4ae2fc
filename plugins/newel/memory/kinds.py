"""The kind `MemoryBackend`."""

from __future__ import annotations

from typing import ClassVar

from newel.memory.base_memory_service import BaseMemoryService
from newel_compose import Backend


class MemoryBackend(Backend[BaseMemoryService]):
    """Opens a memory service from a URI of the scheme `name`."""

    service: ClassVar[str] = "memory"
