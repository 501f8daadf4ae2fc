"""Long-term memory and its stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.memory.base_memory_service import BaseMemoryService as BaseMemoryService
    from newel.memory.base_memory_service import SearchMemoryResponse as SearchMemoryResponse
    from newel.memory.in_memory_memory_service import InMemoryMemoryService as InMemoryMemoryService
    from newel.memory.memory_entry import MemoryEntry as MemoryEntry

_WHERE = {
    "BaseMemoryService": "newel.memory.base_memory_service",
    "InMemoryMemoryService": "newel.memory.in_memory_memory_service",
    "MemoryEntry": "newel.memory.memory_entry",
    "SearchMemoryResponse": "newel.memory.base_memory_service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
