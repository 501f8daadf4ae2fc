"""Planted bugs of memory services."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tests.plugins.testing.planted import Bugs

from newel.memory.base_memory_service import SearchMemoryResponse
from newel.memory.in_memory_memory_service import InMemoryMemoryService
from newel.memory.memory_entry import MemoryEntry
from newel_kernel import Event, Session, seam

BUGS = Bugs()
Memory = InMemoryMemoryService


@BUGS.caught_by("what_was_said_is_found")
class ForgetsTheAuthor(Memory):
    async def search_memory(self, **where: Any) -> SearchMemoryResponse:
        found = await super().search_memory(**where)
        return SearchMemoryResponse(memories=[one.model_copy(update={"author": None}) for one in found.memories])


@BUGS.caught_by("what_was_said_is_found")
class LooksAtTheCase(Memory):
    async def search_memory(self, *, query: str, **where: Any) -> SearchMemoryResponse:
        found = await super().search_memory(query=query, **where)
        words = query.split()
        hits = [one for one in found.memories if any(word in str(one.content) for word in words)]
        return SearchMemoryResponse(memories=hits)


@BUGS.caught_by("memories_are_one_users")
class SearchesEveryApp(Memory):
    async def search_memory(self, *, app_name: str, **where: Any) -> SearchMemoryResponse:
        found = []
        for app in {app for app, _ in self._memories if app.startswith(app_name)}:
            found += (await super().search_memory(app_name=app, **where)).memories
        return SearchMemoryResponse(memories=found)


@BUGS.caught_by("memories_are_one_users")
class FoldsUserIds(Memory):
    async def add_session_to_memory(self, session: Session) -> None:
        await super().add_session_to_memory(session.model_copy(update={"user_id": session.user_id.lower()}))

    async def search_memory(self, *, user_id: str, **where: Any) -> SearchMemoryResponse:
        return await super().search_memory(user_id=user_id.lower(), **where)


@BUGS.caught_by("adding_again_adds_what_is_new")
class RemembersTwice(Memory):
    async def add_session_to_memory(self, session: Session) -> None:
        await super().add_session_to_memory(session.model_copy(update={"id": seam.new_id()}))


@BUGS.caught_by("adding_again_adds_what_is_new")
class KeepsTheFirstAddition(Memory):
    async def add_session_to_memory(self, session: Session) -> None:
        if session.id not in self._memories.get((session.app_name, session.user_id), {}):
            await super().add_session_to_memory(session)


@BUGS.caught_by("every_session_of_the_user_is_searched")
class KeepsEventsByTheirId(Memory):
    async def add_session_to_memory(self, session: Session) -> None:
        await super().add_session_to_memory(session.model_copy(update={"id": "one"}))


@BUGS.caught_by("a_content_comes_back_whole")
class KeepsTheFirstPart(Memory):
    async def search_memory(self, **where: Any) -> SearchMemoryResponse:
        found = await super().search_memory(**where)
        for one in found.memories:
            one.content.parts = (one.content.parts or [])[:1]
        return found


@BUGS.caught_by("what_is_remembered_is_nobodys")
class GivesItsOwnEntries(Memory):
    async def search_memory(self, **where: Any) -> SearchMemoryResponse:
        found = await super().search_memory(**where)
        own = [entry for one in self._memories.values() for entries in one.values() for _, entry in entries.values()]
        return SearchMemoryResponse.model_construct(memories=[one for one in own if one in found.memories])


@BUGS.caught_by("a_query_is_data")
class ReadsQueriesAsPatterns(Memory):
    async def search_memory(self, *, query: str, **where: Any) -> SearchMemoryResponse:
        import re

        re.compile(query)
        return await super().search_memory(query=query, **where)


@BUGS.caught_by("a_cancelled_addition_can_be_made_again")
class MarksBeforeItAdds(Memory):
    """A session that it has begun to add is taken as added."""

    def __init__(self) -> None:
        super().__init__()
        self._begun: dict[str, int] = {}

    async def add_session_to_memory(self, session: Session) -> None:
        if self._begun.get(session.id) != len(session.events):
            self._begun[session.id] = len(session.events)
            await asyncio.sleep(0)
            await super().add_session_to_memory(session)


@BUGS.caught_by("single_events_are_added_once")
class ForgetsMetadata(Memory):
    async def add_events_to_memory(self, *, events: Sequence[Event], custom_metadata: Any = None, **where: Any) -> None:
        await super().add_events_to_memory(events=events, **where)


@BUGS.caught_by("given_entries_are_kept")
class OverwritesMetadata(Memory):
    async def add_memory(self, *, memories: Sequence[MemoryEntry], custom_metadata: Any = None, **where: Any) -> None:
        merged = [
            one.model_copy(update={"custom_metadata": {**one.custom_metadata, **(custom_metadata or {})}})
            for one in memories
        ]
        await super().add_memory(memories=merged, **where)
