"""Work: what is done to a memory's tables in one transaction, as statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic_core import from_json

from newel.memory import Embedder
from newel.memory.rows import Existing, Row
from newel.sessions.stored.steps import Query, Steps, Trouble
from newel_kernel import Json
from newel_postgres.memory.lexemes import Words, facts
from newel_postgres.memory.tables import Tables
from newel_postgres.memory.texts import maybe, read, stored
from newel_postgres.memory.vectors import (
    FIELDS,
    Vectors,
    adopted,
    agreed,
    begun,
    locked,
    put,
    stored_vectors,
    vectors_in,
)

R_co = TypeVar("R_co", covariant=True)
_AT_ONCE = 200
#: Separates facts; no fact contains it.
_UNIT = "\x1f"


class Work(Protocol[R_co]):
    """Statements, and their result."""

    def steps(self, tables: Tables) -> Steps[R_co]:
        """The statements of one transaction."""


class Prepared(NamedTuple):
    """A text's words, and its vector; empty without an embedder."""

    words: Words
    vector: str


@dataclass(frozen=True, slots=True)
class Add:
    """Adds rows to a session of a user; `existing` says what happens to rows that already exist."""

    app: str
    user: str
    session: str
    rows: Sequence[Row]
    existing: Existing
    embedder: Embedder | None = None
    #: What was made of texts before the transaction, which must not wait for it.
    prepared: Mapping[str, Prepared] = field(default_factory=dict)

    def steps(self, tables: Tables) -> Steps[list[str]]:
        """See `Work`. The result is the texts that are to be prepared first; if there are any, nothing was written."""
        rows = {row.key: row for row in self.rows}
        make = bool(rows) and all(row.text in self.prepared for row in rows.values())
        has, owner = yield from self._owner(tables, make)
        session = stored(self.session)
        sql = f"SELECT key, number, content, metadata FROM {tables.entries} WHERE owner = ?1 AND session = ?2"
        stored_rows = (yield Query(sql, (owner, session))).rows if owner is not None else ()
        present = {read(key): rest for key, *rest in stored_rows}
        new = [row for key, row in rows.items() if key not in present or self._differs(row, present[key])]
        if unprepared := list({row.text: None for row in new if row.text not in self.prepared}):
            return unprepared
        if owner is None:
            return []
        old = [present[row.key][0] for row in new if row.key in present]
        if self.existing is Existing.WHOLE_SESSION:
            old += [entry[0] for key, entry in present.items() if key not in rows]
        if old:
            yield from _deleted(tables, owner, "number = ANY(CAST(?2 AS bigint[]))", (old,))
        if new and has is None and self.embedder is not None:
            has = yield from adopted(tables, self.embedder, (yield from begun(tables)))
        for at in range(0, len(new), _AT_ONCE):
            some = new[at : at + _AT_ONCE]
            texts = [self.prepared[row.text] for row in some]
            numbers = yield from _inserted(tables, owner, session, some, [text.words for text in texts])
            if has is not None:
                yield from put(tables, has.generation, numbers, [text.vector for text in texts])
        return []

    def _owner(self, tables: Tables, make: bool) -> Steps[tuple[Vectors | None, int | None]]:
        """The memory's vectors and the user's number; neither changes before the transaction ends."""
        alone = make and self.embedder is not None and (yield from stored_vectors(tables)) is None
        names = (stored(self.app), stored(self.user))
        if make:
            yield Query(
                f"INSERT INTO {tables.owners} (app, user_id) SELECT CAST(?1 AS text), CAST(?2 AS text) "
                f"FROM {locked(alone)} ON CONFLICT DO NOTHING",
                names,
            )
        else:
            yield Query(f"SELECT FROM {locked(alone)}")
        sql = (
            f"SELECT {FIELDS}, (SELECT number FROM {tables.owners} WHERE app = ?1 AND user_id = ?2 FOR UPDATE) "
            f"FROM {tables.embedder} AS v"
        )
        row = (yield Query(sql, names)).rows[0]
        has, owner = vectors_in(row), row[3]
        yield from agreed(tables, has, self.embedder)
        if make and (owner is None or (has is None and self.embedder is not None and not alone)):
            raise Trouble("the user, or the whole memory, was deleted at the same time")
        return has, owner

    def _differs(self, row: Row, entry: Sequence[Any]) -> bool:
        return self.existing is not Existing.KEPT and (row.content.decode(), row.metadata) != (entry[1], entry[2])


@dataclass(frozen=True, slots=True)
class Forget:
    """Deletes a user's entries: all, those of a session, or those with some keys. The result is how many there were."""

    app: str
    user: str
    session: str | None = None
    keys: Sequence[str] | None = None

    def steps(self, tables: Tables) -> Steps[int]:
        """See `Work`."""
        sql = f"SELECT number FROM {tables.owners} WHERE app = ?1 AND user_id = ?2 FOR UPDATE"
        rows = (yield Query(sql, (stored(self.app), stored(self.user)))).rows
        if not rows:
            return 0
        owner = rows[0][0]
        if self.session is not None:
            return (yield from _deleted(tables, owner, "session = ?2", (stored(self.session),)))
        if self.keys is not None:
            return (yield from _deleted(tables, owner, "key = ANY(?2)", ([*map(stored, self.keys)],)))
        count = yield from _deleted(tables, owner, "true", ())
        yield Query(f"DELETE FROM {tables.owners} WHERE number = ?1", (owner,))
        return count


def _deleted(tables: Tables, owner: int, which: str, values: Sequence[object]) -> Steps[int]:
    """Delete an owner's entries that meet the condition `which` (`values` from ?2 on); return how many there were."""
    sql = (
        f"WITH gone AS (DELETE FROM {tables.entries} WHERE owner = ?1 AND {which} RETURNING length, words), "
        f"said AS (SELECT lexeme, count(*) AS times FROM gone, unnest(tsvector_to_array(words)) AS lexeme GROUP BY 1), "
        f"less AS (UPDATE {tables.terms} AS t SET entries = t.entries - times FROM said "
        f"WHERE t.owner = ?1 AND t.lexeme = said.lexeme AND t.entries > times), "
        f"none AS (DELETE FROM {tables.terms} AS t USING said "
        f"WHERE t.owner = ?1 AND t.lexeme = said.lexeme AND t.entries <= times) "
        f"SELECT count(*), coalesce(sum(length), 0) FROM gone"
    )
    count, length = (yield Query(sql, (owner, *values))).rows[0]
    yield from _counted(tables, owner, -count, -int(length))
    return int(count)


def _counted(tables: Tables, owner: int, entries: int, length: int) -> Steps[None]:
    sql = f"UPDATE {tables.owners} SET entries = entries + ?2, length = length + ?3 WHERE number = ?1"
    yield Query(sql, (owner, entries, length))


def _inserted(
    tables: Tables, owner: int, session: str, rows: Sequence[Row], words: Sequence[Words]
) -> Steps[list[int]]:
    """Insert the entries with their texts' words; return their numbers."""
    metadata: list[Json] = [from_json(row.metadata) for row in rows]
    columns: list[list[Any]] = [
        [stored(row.key) for row in rows],
        [row.is_event for row in rows],
        [maybe(row.author) for row in rows],
        [maybe(row.timestamp) for row in rows],
        [row.at for row in rows],
        [row.content.decode() for row in rows],
        [row.metadata for row in rows],
        [_UNIT.join(facts(one)) for one in metadata],
        [one.of(owner) for one in words],
        [one.length for one in words],
    ]
    types = ("text", "boolean", "text", "text", "double precision", "text", "text", "text", "text", "integer")
    casts = ", ".join(f"CAST(?{place} AS {kind}[])" for place, kind in enumerate(types, 3))
    sql = (
        f"WITH added AS (INSERT INTO {tables.entries} "
        f"(owner, session, key, is_event, author, timestamp, at, content, metadata, facts, words, length) "
        f"SELECT CAST(?1 AS bigint), CAST(?2 AS text), k, e, a, t, s, c, m, string_to_array(f, chr(31)), "
        f"CAST(w AS tsvector), l FROM unnest({casts}) WITH ORDINALITY AS new (k, e, a, t, s, c, m, f, w, l, place) "
        f"ORDER BY place RETURNING key, number, words), "
        f"said AS (INSERT INTO {tables.terms} AS t (owner, lexeme, entries) "
        f"SELECT CAST(?1 AS bigint), lexeme, count(*) FROM added, unnest(tsvector_to_array(words)) AS lexeme "
        f"GROUP BY lexeme "
        f"ON CONFLICT (owner, lexeme) DO UPDATE SET entries = t.entries + excluded.entries) "
        f"SELECT key, number FROM added"
    )
    numbers: dict[str, int] = {row[0]: row[1] for row in (yield Query(sql, (owner, session, *columns))).rows}
    yield from _counted(tables, owner, len(rows), sum(one.length for one in words))
    return [numbers[key] for key in columns[0]]
