"""Search: what finds a user's entries by their words, ranked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from newel.memory import MemoryEntry, MemoryFilter
from newel.memory.rows import remembered, said
from newel.memory.terms import snippet
from newel.sessions.stored.steps import Query, Steps
from newel_postgres.memory.lexemes import Term, fact_of, terms
from newel_postgres.memory.tables import Tables
from newel_postgres.memory.work import maybe, read, stored
from newel_types import Content

#: A word that stands in more of the user's entries is common: it says little and costs much to rank by.
_COMMON = 1000
_WORDS = 48
#: Of bm25: how soon a word that is repeated counts no more, and how much a long text is held against it.
_REPEATED, _LONG = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Search:
    """Finds at most `limit` entries of a user, best first by bm25.

    Entries that have only common words of the question come last, those with all of them first, then the newest.
    """

    app: str
    user: str
    query: str
    limit: int
    filter: MemoryFilter | None

    def steps(self, tables: Tables) -> Steps[list[MemoryEntry]]:
        """See `Work`."""
        sql = f"SELECT number, entries, length FROM {tables.owners} WHERE app = ?1 AND user_id = ?2"
        owners = (yield Query(sql, (stored(self.app), stored(self.user)))).rows
        asked = terms(owners[0][0], self.query, _WORDS) if owners else []
        if not asked or not owners[0][1]:
            return []
        owner, entries, length = owners[0]
        counts = yield from _counts(tables, asked)
        rare = [(term, _weight(count, entries)) for term, count in counts if 0 < count <= _COMMON]
        found: dict[int, float] = {}
        if rare:
            found.update((yield from self._ranked(tables, owner, rare, length / entries)))
        common = [term.query for term, count in counts if count > _COMMON]
        for joined in (" & ", " | "):
            if common and len(found) < self.limit:
                where, values = self._where(owner, joined.join(common))
                newest = f"SELECT number FROM {tables.entries} WHERE {where} ORDER BY number DESC LIMIT ?3"
                for (number,) in (yield Query(newest, (*values[:2], self.limit, *values[2:]))).rows:
                    found.setdefault(number, 0.0)
        ranked = list(found.items())[: self.limit]
        return (yield from self._entries(tables, ranked))

    def _ranked(
        self, tables: Tables, owner: int, rare: Sequence[tuple[Term, float]], average: float
    ) -> Steps[list[tuple[int, float]]]:
        """Entries with their scores, best first, and the newest where two are as good."""
        where, values = self._where(owner, " | ".join(term.query for term, _ in rare), first=7)
        sql = (
            f"SELECT number, sum(weight * times * {_REPEATED + 1} / (times + {_REPEATED} * "
            f"({1 - _LONG} + {_LONG} * length / CAST(?6 AS double precision)))) AS score "
            f"FROM (SELECT number, length, words FROM {tables.entries} WHERE {where}) AS e "
            f"CROSS JOIN LATERAL unnest(words) AS word "
            f"JOIN unnest(CAST(?3 AS text[]), CAST(?4 AS boolean[]), CAST(?5 AS double precision[])) "
            f"AS asked (asked_for, begins, weight) "
            f"ON word.lexeme = asked_for OR (begins AND starts_with(word.lexeme, asked_for)) "
            f"CROSS JOIN LATERAL (SELECT cardinality(word.positions) AS times) AS counted "
            f"GROUP BY number ORDER BY score DESC, number DESC LIMIT {self.limit:d}"
        )
        lexemes, begins = [term.lexeme for term, _ in rare], [term.begins for term, _ in rare]
        weights = [weight for _, weight in rare]
        rows = (yield Query(sql, (*values[:2], lexemes, begins, weights, max(average, 1.0), *values[2:]))).rows
        return [(number, float(score)) for number, score in rows]

    def _where(self, owner: int, query: str, first: int = 4) -> tuple[str, list[object]]:
        """The owner (?1), the words (?2), and what the filter asks for from ?`first` on."""
        clauses, values = ["owner = CAST(?1 AS bigint)", "words @@ CAST(CAST(?2 AS text) AS tsquery)"], [owner, query]
        chosen: list[tuple[str, object]] = []
        if self.filter is not None:
            since, until = self.filter.since, self.filter.until
            chosen = [
                ("session = CAST({} AS text)", maybe(self.filter.session_id)),
                ("author = CAST({} AS text)", maybe(self.filter.author)),
                ("at >= CAST({} AS double precision)", since.timestamp() if since is not None else None),
                ("at <= CAST({} AS double precision)", until.timestamp() if until is not None else None),
            ]
            if self.filter.metadata:
                wanted = [fact_of(key, value) for key, value in self.filter.metadata.items()]
                chosen.append(("facts @> CAST({} AS text[])", wanted))
        given: list[object] = []
        for clause, value in chosen:
            if value is not None:
                clauses.append(clause.format(f"?{first + len(given)}"))
                given.append(value)
        return " AND ".join(clauses), [*values, *given]

    def _entries(self, tables: Tables, ranked: Sequence[tuple[int, float]]) -> Steps[list[MemoryEntry]]:
        sql = (
            f"SELECT number, session, key, is_event, author, timestamp, content, metadata FROM {tables.entries} "
            f"WHERE number = ANY(CAST(?1 AS bigint[]))"
        )
        rows = {row[0]: row for row in (yield Query(sql, ([number for number, _ in ranked],))).rows}
        return [self._entry(rows[number], score) for number, score in ranked]

    def _entry(self, row: Sequence[Any], score: float) -> MemoryEntry:
        number, session, key, is_event, author, timestamp, content, metadata = row
        text = said(Content.model_validate_json(content))
        author, timestamp = (None if one is None else read(one) for one in (author, timestamp))
        values = (number, read(session), read(key), is_event, author, timestamp, content.encode(), metadata, text)
        return remembered(values, score, snippet(text, self.query))


def _counts(tables: Tables, asked: Sequence[Term]) -> Steps[list[tuple[Term, int]]]:
    """In how many entries each term stands, counted as far as it matters."""
    sql = (
        f"SELECT (SELECT count(*) FROM (SELECT 1 FROM {tables.entries} WHERE words @@ CAST(term AS tsquery) "
        f"LIMIT {_COMMON + 1}) AS found) FROM unnest(CAST(?1 AS text[])) WITH ORDINALITY AS asked (term, place) "
        f"ORDER BY place"
    )
    rows = (yield Query(sql, ([term.query for term in asked],))).rows
    return [(term, int(count)) for term, (count,) in zip(asked, rows, strict=True)]


def _weight(count: int, entries: int) -> float:
    """How much a word says that stands in so many of so many entries."""
    return math.log(1 + (max(entries - count, 0) + 0.5) / (count + 0.5))
