"""PostgresMemoryService: memory in a PostgreSQL database, found by words, and by meaning if an embedder is given."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from newel.memory import BaseMemoryService, Embedder, MemoryEntry, MemoryFilter, SearchMemoryResponse
from newel.memory.base_memory_service import check_limit
from newel.memory.embedding import check_embedder, needed, question_vector, vectors_of
from newel.memory.rows import Existing, checked, row_of_entry, row_of_event
from newel_kernel import ConfigurationError, Event, Session
from newel_postgres.access import access_of
from newel_postgres.memory.conversion import Begin, Clear, Finish, Following, Step
from newel_postgres.memory.database import MemoryDatabase
from newel_postgres.memory.lexemes import words_of
from newel_postgres.memory.search import Search
from newel_postgres.memory.vectors import text_of
from newel_postgres.memory.work import Add, Forget, Prepared

#: The session of entries, and of events that come without one.
_NO_SESSION = ""
#: The most characters of a question that count.
_QUESTION = 8000


class PostgresMemoryService(BaseMemoryService):
    """Memory in the database `url` (``postgresql://user:password@host:port/database?schema=name``).

    The arguments are those of PostgresSessionService. With an `embedder` a search also finds entries that say the
    same in other words; the server needs pgvector. Only content with text is remembered. Adding an event again adds
    nothing; adding a session again brings its entries up to date.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "",
        pool_size: int = 4,
        proxy: bool = False,
        patience: float = 15.0,
        embedder: Embedder | None = None,
    ) -> None:
        if "embedder" in dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)):
            raise ConfigurationError(
                "an embedder that a URL names is a plugin's, which only a composition knows: name the URL under "
                "`services`, or give the embedder itself: PostgresMemoryService(url, embedder=...)"
            )
        if embedder is not None:
            check_embedder(embedder)
        self._embedder = embedder
        access = access_of(url, schema, pool_size, proxy, patience, "memory")
        self._database = MemoryDatabase(access, vectors=embedder is not None)

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember what was said in a session, and forget what is no longer in it."""
        rows = [row for event in session.events if (row := row_of_event(event, None)) is not None]
        await self._add(Add(session.app_name, session.user_id, session.id, rows, Existing.WHOLE_SESSION))

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
        rows = [row for event in events if (row := row_of_event(event, custom_metadata)) is not None]
        await self._add(Add(app_name, user_id, session_id or _NO_SESSION, rows, Existing.KEPT))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember the given entries; an entry with a known id replaces the old one."""
        rows = [row_of_entry(memory, custom_metadata) for memory in memories]
        await self._add(Add(app_name, user_id, _NO_SESSION, rows, Existing.REPLACED))

    async def _add(self, add: Add) -> None:
        checked((add.app, add.user, add.session))
        for row in add.rows:
            checked((row.key, row.author, row.timestamp))
        prepared: dict[str, Prepared] = {}
        while texts := await self._database.run(replace(add, embedder=self._embedder, prepared=prepared)):
            prepared.update(zip(texts, await self._prepare(texts), strict=True))

    async def _prepare(self, texts: Sequence[str]) -> Iterator[Prepared]:
        vectors = [""] * len(texts) if self._embedder is None else await self._embed(texts)
        words = await asyncio.to_thread(lambda: [*map(words_of, texts)])  # a long one would hold the event loop
        return map(Prepared, words, vectors)

    async def _embed(self, texts: Sequence[str]) -> list[str]:
        assert self._embedder is not None
        return [text_of(vector) for vector in await vectors_of(self._embedder, texts)]

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str, limit: int = 10, filter: MemoryFilter | None = None
    ) -> SearchMemoryResponse:
        """At most `limit` entries of the user, best first.

        Without an embedder the scores are bm25's. With one they say how well words and vector fit together, and cannot
        be compared between questions. Raises EmbedderMismatchError if another embedder made the memory's vectors.
        """
        check_limit(limit)
        query = query[:_QUESTION].encode(errors="replace").decode()
        checked((app_name, user_id, *((filter.session_id, filter.author, *filter.metadata) if filter else ())))
        vector = await question_vector(self._embedder, query)
        text = text_of(vector) if vector is not None else None
        entries = await self._database.run(Search(app_name, user_id, query, limit, filter, self._embedder, text))
        return SearchMemoryResponse(memories=entries)

    async def forget_session(self, *, app_name: str, user_id: str, session_id: str) -> int:
        """Forget a session's entries; return how many there were."""
        return await self._forget(Forget(app_name, user_id, session=session_id))

    async def forget_user(self, *, app_name: str, user_id: str) -> int:
        """Forget a user's entries; return how many there were."""
        return await self._forget(Forget(app_name, user_id))

    async def delete_memories(self, *, app_name: str, user_id: str, ids: Iterable[str]) -> int:
        """Delete entries by their ids, or by their events' ids; return how many there were."""
        return await self._forget(Forget(app_name, user_id, keys=list(ids)))

    async def _forget(self, forget: Forget) -> int:
        checked((forget.app, forget.user, forget.session, *(forget.keys or ())))
        return await self._database.run(forget)

    async def reindex(self) -> int:
        """Remake the vectors of all entries with this service's embedder; return how many there were.

        The old vectors stay in use until all are made; a reindex that does not finish changes nothing.
        """
        embedder = needed(self._embedder)
        generation = await self._database.run(Begin())
        last = count = 0
        while rows := await self._database.run(Following(last, embedder.batch)):
            await self._database.run(Step(generation, rows, await self._embed([text for _, text in rows])))
            last, count = rows[-1][0], count + len(rows)
        while rows := await self._database.run(Finish(generation, embedder)):  # entries that came meanwhile
            await self._database.run(Step(generation, rows, await self._embed([text for _, text in rows])))
            count += len(rows)
        await self._database.run(Clear())
        return count

    async def close(self) -> None:
        """Close the connections."""
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
