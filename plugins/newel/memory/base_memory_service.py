"""The contract of a memory service, and what a search answers."""

from __future__ import annotations

from pydantic import BaseModel, Field

from newel.memory.memory_entry import MemoryEntry

__all__ = ["BaseMemoryService", "SearchMemoryResponse"]


class SearchMemoryResponse(BaseModel):
    """What a search found, best first where the service ranks."""

    memories: list[MemoryEntry] = Field(default_factory=list)
