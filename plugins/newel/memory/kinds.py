"""The kind `MemoryBackend`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from newel_compose import Backend

if TYPE_CHECKING:
    from newel.memory.base_memory_service import BaseMemoryService  # noqa: F401 - the class below names it


class MemoryBackend(Backend["BaseMemoryService"]):
    """Opens a memory service from a URI of the scheme `name`."""

    service: ClassVar[str] = "memory"
