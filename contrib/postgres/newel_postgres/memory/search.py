"""Search: finds a user's entries by their words, and by their meaning if the memory has an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from newel.memory import Embedder, MemoryEntry, MemoryFilter
from newel.memory.fusion import depth, fused
from newel.memory.rows import remembered, words_of
from newel.memory.terms import snippet
from newel.sessions.stored.steps import Query, Steps
from newel_postgres.memory.conditions import Conditions
from newel_postgres.memory.ranking import by_words
from newel_postgres.memory.tables import Tables
from newel_postgres.memory.texts import read, stored
from newel_postgres.memory.vectors import FIELDS, agreed, nearest, vectors_in
from newel_types import Content


@dataclass(frozen=True, slots=True)
class Search:
    """Finds at most `limit` entries of a user, best first."""

    app: str
    user: str
    query: str
    limit: int
    filter: MemoryFilter | None
    embedder: Embedder | None
    #: The query's vector; None searches by words alone.
    vector: str | None

    def steps(self, tables: Tables) -> Steps[list[MemoryEntry]]:
        """See `Work`."""
        if self.embedder is not None:  # one snapshot for all statements: a conversion may end between two of them
            yield Query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        sql = (
            f"SELECT {FIELDS}, o.number, o.entries, o.length FROM {tables.embedder} AS v "
            f"LEFT JOIN {tables.owners} AS o ON o.app = ?1 AND o.user_id = ?2"
        )
        row = (yield Query(sql, (stored(self.app), stored(self.user)))).rows[0]
        has = vectors_in(row)
        yield from agreed(tables, has, self.embedder)
        owner, entries, length = row[3:]
        if not entries:
            return []
        where = Conditions(owner, self.filter)
        if has is None or self.vector is None:
            ranked = (yield from by_words(tables, where, self.query, entries, length, self.limit)).entries
        else:
            most = depth(self.limit)
            words = yield from by_words(tables, where, self.query, entries, length, most)
            also = [number for number, _ in words.entries]
            near = yield from nearest(tables, has, self.vector, where, entries, most, also)
            ranked = fused(words, near, self.limit)
        return (yield from self._entries(tables, ranked)) if ranked else []

    def _entries(self, tables: Tables, ranked: Sequence[tuple[int, float]]) -> Steps[list[MemoryEntry]]:
        sql = (
            f"SELECT number, session, key, is_event, author, timestamp, content, metadata FROM {tables.entries} "
            f"WHERE number = ANY(CAST(?1 AS bigint[]))"
        )
        rows = {row[0]: row for row in (yield Query(sql, ([number for number, _ in ranked],))).rows}
        return [self._entry(rows[number], score) for number, score in ranked if number in rows]  # else just forgotten

    def _entry(self, row: Sequence[Any], score: float) -> MemoryEntry:
        number, session, key, is_event, author, timestamp, content, metadata = row
        text = words_of(Content.model_validate_json(content))
        author, timestamp = (None if one is None else read(one) for one in (author, timestamp))
        values = (number, read(session), read(key), is_event, author, timestamp, content.encode(), metadata, text)
        return remembered(values, score, snippet(text, self.query))
