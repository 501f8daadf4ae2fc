"""SqliteMemoryService: memory in one SQLite file, found by words, and by meaning if an embedder is given."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import weakref
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from newel.memory.base_memory_service import MOST, BaseMemoryService, SearchMemoryResponse, check_limit
from newel.memory.embedder import Embedder
from newel.memory.embedding import check_embedder, needed, question_vector, vectors_of
from newel.memory.fusion import depth, fused
from newel.memory.memory_entry import MemoryEntry
from newel.memory.memory_filter import MemoryFilter
from newel.memory.rows import COLUMNS, Existing, checked, remembered, row_of_entry, row_of_event
from newel.memory.sqlite import conversion, vectors
from newel.memory.sqlite.binding import check_vectors
from newel.memory.sqlite.conditions import conditions
from newel.memory.sqlite.file import MemoryFile
from newel.memory.sqlite.ranking import by_words
from newel.memory.sqlite.writes import Addition, forget
from newel.memory.terms import snippet
from newel_kernel import Event, Session

#: The session of entries, and of events that come without one.
_NO_SESSION = ""
#: How much of a question counts, in characters.
_QUESTION = 8000


class SqliteMemoryService(BaseMemoryService):
    """Memory in the file `path`: a path, ``sqlite:///relative``, ``sqlite:////absolute`` or ``:memory:``.

    Several processes may use one file. With an `embedder` a search also finds what means the same in other words. Only
    what has text is remembered. Adding twice adds nothing; adding a session again brings it up to date.
    """

    def __init__(self, path: str | os.PathLike[str], *, embedder: Embedder | None = None) -> None:
        if embedder is not None:
            check_embedder(embedder)
            check_vectors()
        self._embedder = embedder
        self._file = MemoryFile(path)
        # Also at exit, and if close() is never called.
        self._finalizer = weakref.finalize(self, self._file.close)

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember what was said in a session, and forget what is not in it any more."""
        rows = [row for event in session.events if (row := row_of_event(event, None)) is not None]
        await self._add(Addition(session.app_name, session.user_id, session.id, rows, Existing.WHOLE_SESSION))

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
        await self._add(Addition(app_name, user_id, session_id or _NO_SESSION, rows, Existing.KEPT))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember given entries; one with a known id replaces it."""
        rows = [row_of_entry(memory, custom_metadata) for memory in memories]
        await self._add(Addition(app_name, user_id, _NO_SESSION, rows, Existing.REPLACED))

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str, limit: int = 10, filter: MemoryFilter | None = None
    ) -> SearchMemoryResponse:
        """At most `limit` entries of the user, best first.

        By words alone the scores are those of bm25; with an embedder they say how well words and vector fit together,
        and cannot be compared between questions. Raises EmbedderMismatchError if the file's vectors are
        another's.
        """
        check_limit(limit)
        query = query[:_QUESTION].encode(errors="replace").decode()
        checked((app_name, user_id, *((filter.session_id, filter.author, *filter.metadata) if filter else ())))
        vector = await question_vector(self._embedder, query)
        entries = await asyncio.to_thread(
            self._file.read, lambda db: self._search(db, app_name, user_id, query, vector, limit, filter)
        )
        return SearchMemoryResponse(memories=entries)

    async def forget_session(self, *, app_name: str, user_id: str, session_id: str) -> int:
        """Forget what is remembered of a session; return how many entries there were."""
        return await self._forget(app_name, user_id, session_id, None)

    async def forget_user(self, *, app_name: str, user_id: str) -> int:
        """Forget everything of a user; return how many entries there were. None of it is in the file any more."""
        return await self._forget(app_name, user_id, None, None)

    async def delete_memories(self, *, app_name: str, user_id: str, ids: Iterable[str]) -> int:
        """Delete entries by their ids, or by those of their events; return how many there were."""
        keys = list(ids)
        return sum(
            [
                await self._forget(app_name, user_id, None, keys[start : start + MOST])
                for start in range(0, len(keys), MOST)
            ]
        )

    async def reindex(self) -> int:
        """Remake the vectors of all entries with this service's embedder; return how many there were.

        The old vectors stay in use until all new ones are stored; a reindex that does not end changes nothing.
        """
        embedder = needed(self._embedder)
        into = await asyncio.to_thread(self._file.write, lambda db: conversion.begin(db, embedder))
        last = count = 0
        while True:
            after = last
            rows = await asyncio.to_thread(
                self._file.read, lambda db, after=after: conversion.following(db, after, embedder.batch)
            )
            if rows:
                embedded = await self._embed([text for _, _, text in rows])
                await asyncio.to_thread(
                    self._file.write, lambda db, rows=rows, vectors=embedded: conversion.step(db, into, rows, vectors)
                )
                last, count = rows[-1][0], count + len(rows)
            elif await asyncio.to_thread(self._file.write, lambda db, after=after: conversion.finish(db, into, after)):
                return count

    async def close(self) -> None:
        """Close the file."""
        await asyncio.to_thread(self._file.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _add(self, addition: Addition) -> None:
        checked((addition.app, addition.user, addition.session))
        for row in addition.rows:
            checked((row.key, row.author, row.timestamp))
        embedded: dict[str, bytes] = {}
        while texts := await asyncio.to_thread(
            self._file.write, lambda db: addition.missing(db, self._embedder, embedded)
        ):
            embedded.update(zip(texts, await self._embed(texts), strict=True))

    async def _embed(self, texts: Sequence[str]) -> list[bytes]:
        assert self._embedder is not None
        return [vector.tobytes() for vector in await vectors_of(self._embedder, texts)]

    async def _forget(self, app: str, user: str, session: str | None, keys: list[str] | None) -> int:
        checked((app, user, session, *(keys or ())))
        count = await asyncio.to_thread(self._file.write, lambda db: forget(db, app, user, session, keys))
        if count:
            await asyncio.to_thread(self._file.purge)
        return count

    def _search(
        self,
        db: sqlite3.Connection,
        app: str,
        user: str,
        query: str,
        vector: array[float] | None,
        limit: int,
        filter: MemoryFilter | None,
    ) -> list[MemoryEntry]:
        current = vectors.agreed(db, self._embedder)
        owner = db.execute("SELECT number FROM owners WHERE app = ? AND user = ?", (app, user)).fetchone()
        if owner is None:
            return []
        where = conditions(owner[0], filter)
        if current is None or vector is None:
            ranked = by_words(db, where, query, limit).entries
        else:
            words = by_words(db, where, query, depth(limit))
            others = [number for number, _ in words.entries]
            near = vectors.nearest(db, current, vector.tobytes(), where, depth(limit), others)
            ranked = fused(words, near, limit)
        marks = ", ".join("?" * len(ranked))
        rows = db.execute(  # by their numbers: the plus keeps SQLite from reading all that the user has
            f"SELECT {COLUMNS} FROM entries e WHERE +e.owner = ? AND e.number IN ({marks})",
            (where.owner, *(number for number, _ in ranked)),
        ).fetchall()
        by_number = {row[0]: row for row in rows}
        return [remembered(by_number[number], score, snippet(by_number[number][8], query)) for number, score in ranked]
