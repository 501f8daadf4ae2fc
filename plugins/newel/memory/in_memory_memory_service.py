"""InMemoryMemoryService: what was said, found again by its words; it ends with the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from newel.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse, check_limit
from newel.memory.memory_entry import MemoryEntry
from newel.memory.rows import words_of
from newel.memory.terms import sought, terms
from newel.memory.times import seconds, time_of
from newel_kernel import Event, Session, seam

if TYPE_CHECKING:
    from newel.memory.memory_filter import MemoryFilter

#: The session of events and entries that come without one.
_NO_SESSION = ""


class InMemoryMemoryService(BaseMemoryService):
    """Entries by app, user and session, each with its words. Adding a session again replaces its entries."""

    def __init__(self) -> None:
        self._memories: dict[tuple[str, str], dict[str, dict[str, tuple[frozenset[str], MemoryEntry]]]] = {}

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember what was said in a session."""
        sessions = self._memories.setdefault((session.app_name, session.user_id), {})
        sessions[session.id] = _remembered(session.events, None)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember a few events; those already known are unchanged."""
        own = self._memories.setdefault((app_name, user_id), {}).setdefault(session_id or _NO_SESSION, {})
        for id_, entry in _remembered(events, custom_metadata).items():
            own.setdefault(id_, entry)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember given entries; one with a known id replaces it."""
        own = self._memories.setdefault((app_name, user_id), {}).setdefault(_NO_SESSION, {})
        for memory in memories:
            metadata = {**(custom_metadata or {}), **memory.custom_metadata}
            entry = memory.model_copy(update={"custom_metadata": metadata})
            text = words_of(memory.content)
            own[memory.id or seam.new_id()] = (terms(text), entry)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str, limit: int | None = None, filter: MemoryFilter | None = None
    ) -> SearchMemoryResponse:
        """Every entry that shares a term with `query`, in the order in which they were added.

        A term is a word or, in scripts without blanks, a few letters.
        With a `limit`, at most that many: those that share the most terms; of equals, the newest first.
        """
        if limit is not None:
            check_limit(limit)
        query_terms = sought(query)
        matches = [
            (shared, entry)
            for session_id, own in self._memories.get((app_name, user_id), {}).items()
            for words, entry in own.values()
            if (shared := _shared(words, query_terms)) and (filter is None or _admitted(filter, session_id, entry))
        ]
        if limit is not None:
            matches.reverse()
            matches = sorted(matches, key=lambda one: -one[0])[:limit]
        return SearchMemoryResponse(memories=[entry.model_copy(deep=True) for _, entry in matches])


def _admitted(condition: MemoryFilter, session_id: str, entry: MemoryEntry) -> bool:
    return condition.admits(
        session_id=session_id, author=entry.author, at=seconds(entry.timestamp), metadata=entry.custom_metadata
    )


def _remembered(
    events: Iterable[Event], custom_metadata: Mapping[str, object] | None
) -> dict[str, tuple[frozenset[str], MemoryEntry]]:
    """The events that say something, by their ids, as entries with their words."""
    entries: dict[str, tuple[frozenset[str], MemoryEntry]] = {}
    for event in events:
        content = event.content
        if content is None or not content.parts:
            continue
        entry = MemoryEntry(
            content=content.model_copy(deep=True),
            author=event.author,
            timestamp=time_of(event),
            custom_metadata=dict(custom_metadata or {}),
        )
        entries[event.id] = (terms(words_of(content)), entry)
    return entries


def _shared(words: frozenset[str], query: Mapping[str, bool]) -> int:
    """How many terms of the query a text has."""
    return sum(
        term in words or (is_prefix and any(word.startswith(term) for word in words))
        for term, is_prefix in query.items()
    )
