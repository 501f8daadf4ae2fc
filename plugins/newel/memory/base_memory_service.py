"""The contract of a memory service, and the result of a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from newel.memory.memory_entry import MemoryEntry
from newel_kernel import ConfigurationError, Event, Session

#: The most entries that a search returns.
MOST = 1000


class SearchMemoryResponse(BaseModel, defer_build=True):
    """What a search found, best first if the service ranks."""

    memories: list[MemoryEntry] = Field(default_factory=list)


class BaseMemoryService(ABC):
    """Long-term memory over a user's sessions."""

    @abstractmethod
    async def add_session_to_memory(self, session: Session) -> None:
        """Remember a session."""

    @abstractmethod
    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """What matches `query`."""

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember a few events."""
        raise NotImplementedError(f"{type(self).__name__} cannot add single events")

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[Any],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember given entries."""
        raise NotImplementedError(f"{type(self).__name__} cannot add entries")


def check_limit(limit: int) -> None:
    """Raise ConfigurationError if a search cannot return `limit` entries."""
    if not isinstance(limit, int) or not 0 < limit <= MOST:
        raise ConfigurationError(f"limit={limit!r}: a search gives 1 to {MOST} entries")
