"""Long-term memory and its stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.memory.base_memory_service import BaseMemoryService as BaseMemoryService
    from mortise.memory.base_memory_service import SearchMemoryResponse as SearchMemoryResponse
    from mortise.memory.in_memory_memory_service import InMemoryMemoryService as InMemoryMemoryService
    from mortise.memory.memory_entry import MemoryEntry as MemoryEntry

_WHERE = {
    "BaseMemoryService": "mortise_kernel.contracts.services",
    "InMemoryMemoryService": "mortise.memory.in_memory_memory_service",
    "MemoryEntry": "mortise.memory.memory_entry",
    "SearchMemoryResponse": "mortise.memory.base_memory_service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
