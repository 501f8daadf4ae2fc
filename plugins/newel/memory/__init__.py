"""Long-term memory and its stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.memory.base_memory_service import BaseMemoryService as BaseMemoryService
    from newel.memory.base_memory_service import SearchMemoryResponse as SearchMemoryResponse
    from newel.memory.embedder import Embedder as Embedder
    from newel.memory.errors import EmbedderMismatchError as EmbedderMismatchError
    from newel.memory.errors import MemoryStoreError as MemoryStoreError
    from newel.memory.errors import MemoryUnavailableError as MemoryUnavailableError
    from newel.memory.in_memory_memory_service import InMemoryMemoryService as InMemoryMemoryService
    from newel.memory.memory_entry import MemoryEntry as MemoryEntry
    from newel.memory.memory_filter import MemoryFilter as MemoryFilter
    from newel.memory.sqlite.service import SqliteMemoryService as SqliteMemoryService

_WHERE = {
    "BaseMemoryService": "newel.memory.base_memory_service",
    "Embedder": "newel.memory.embedder",
    "EmbedderMismatchError": "newel.memory.errors",
    "InMemoryMemoryService": "newel.memory.in_memory_memory_service",
    "MemoryEntry": "newel.memory.memory_entry",
    "MemoryFilter": "newel.memory.memory_filter",
    "MemoryStoreError": "newel.memory.errors",
    "MemoryUnavailableError": "newel.memory.errors",
    "SearchMemoryResponse": "newel.memory.base_memory_service",
    "SqliteMemoryService": "newel.memory.sqlite.service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
