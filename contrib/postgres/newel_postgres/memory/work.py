"""Work: what is done to a memory's tables in one transaction, as statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic_core import from_json

from newel.memory.rows import Known, Row
from newel.sessions.stored.dialects import POSTGRES
from newel.sessions.stored.pooled import Trouble
from newel.sessions.stored.steps import Query, Steps
from newel_kernel import Json
from newel_postgres.memory.lexemes import facts, vector
from newel_postgres.memory.tables import Tables

R_co = TypeVar("R_co", covariant=True)
_AT_ONCE = 200
#: Between facts, none of which has it.
_UNIT = "\x1f"


class Work(Protocol[R_co]):
    """Statements, and what they come to."""

    def steps(self, tables: Tables) -> Steps[R_co]:
        """The statements of one transaction."""


@dataclass(frozen=True, slots=True)
class Add:
    """Adds rows to a session of a user; `known` says what becomes of those that are there."""

    app: str
    user: str
    session: str
    rows: Sequence[Row]
    known: Known

    def steps(self, tables: Tables) -> Steps[None]:
        """See `Work`."""
        rows = {row.key: row for row in self.rows}
        owner = yield from _locked(tables, self.app, self.user, make=bool(rows))
        if owner is None:
            return
        session = stored(self.session)
        sql = f"SELECT key, number, content, metadata FROM {tables.entries} WHERE owner = ?1 AND session = ?2"
        there = {read(key): rest for key, *rest in (yield Query(sql, (owner, session))).rows}
        new = [row for key, row in rows.items() if key not in there or self._differs(row, there[key])]
        gone = [there[row.key][0] for row in new if row.key in there]
        if self.known is Known.WHOLE_SESSION:
            gone += [entry[0] for key, entry in there.items() if key not in rows]
        if gone:
            yield from _deleted(tables, owner, "number = ANY(CAST(?2 AS bigint[]))", (gone,))
        for at in range(0, len(new), _AT_ONCE):
            yield from _inserted(tables, owner, session, new[at : at + _AT_ONCE])

    def _differs(self, row: Row, entry: Sequence[Any]) -> bool:
        return self.known is not Known.KEPT and (row.content.decode(), row.metadata) != (entry[1], entry[2])


@dataclass(frozen=True, slots=True)
class Forget:
    """Takes a user's entries out: all, or those of a session, of some keys; the result is how many there were."""

    app: str
    user: str
    session: str | None = None
    keys: Sequence[str] | None = None

    def steps(self, tables: Tables) -> Steps[int]:
        """See `Work`."""
        owner = yield from _locked(tables, self.app, self.user, make=False)
        if owner is None:
            return 0
        if self.session is not None:
            return (yield from _deleted(tables, owner, "session = ?2", (stored(self.session),)))
        if self.keys is not None:
            return (yield from _deleted(tables, owner, "key = ANY(?2)", ([*map(stored, self.keys)],)))
        count = yield from _deleted(tables, owner, "true", ())
        yield Query(f"DELETE FROM {tables.owners} WHERE number = ?1", (owner,))
        return count


def stored(name: str) -> str:
    """A name as text that PostgreSQL can hold; `read` gives it back."""
    return str(POSTGRES.stored(name))


def maybe(name: str | None) -> str | None:
    """The same, or None."""
    return None if name is None else stored(name)


read = POSTGRES.read


def _locked(tables: Tables, app: str, user: str, *, make: bool) -> Steps[int | None]:
    """The number of a user, whose entries nobody else changes until the end of the transaction."""
    names = (stored(app), stored(user))
    if make:
        yield Query(f"INSERT INTO {tables.owners} (app, user_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING", names)
    sql = f"SELECT number FROM {tables.owners} WHERE app = ?1 AND user_id = ?2 FOR UPDATE"
    rows = (yield Query(sql, names)).rows
    if make and not rows:
        raise Trouble("the user was forgotten in this moment")
    return int(rows[0][0]) if rows else None


def _deleted(tables: Tables, owner: int, which: str, values: Sequence[object]) -> Steps[int]:
    """Delete the entries of an owner, `which` with the values from ?2 on; how many there were."""
    sql = (
        f"WITH gone AS (DELETE FROM {tables.entries} WHERE owner = ?1 AND {which} RETURNING length) "
        f"SELECT count(*), coalesce(sum(length), 0) FROM gone"
    )
    count, length = (yield Query(sql, (owner, *values))).rows[0]
    yield from _counted(tables, owner, -count, -int(length))
    return int(count)


def _counted(tables: Tables, owner: int, entries: int, length: int) -> Steps[None]:
    sql = f"UPDATE {tables.owners} SET entries = entries + ?2, length = length + ?3 WHERE number = ?1"
    yield Query(sql, (owner, entries, length))


def _inserted(tables: Tables, owner: int, session: str, rows: Sequence[Row]) -> Steps[None]:
    vectors = [vector(owner, row.text) for row in rows]
    metadata: list[Json] = [from_json(row.metadata) for row in rows]
    columns: list[list[Any]] = [
        [stored(row.key) for row in rows], [row.is_event for row in rows], [maybe(row.author) for row in rows],
        [maybe(row.timestamp) for row in rows], [row.at for row in rows], [row.content.decode() for row in rows],
        [row.metadata for row in rows], [_UNIT.join(facts(one)) for one in metadata],
        [words for words, _ in vectors], [length for _, length in vectors],
    ]  # fmt: skip
    types = ("text", "boolean", "text", "text", "double precision", "text", "text", "text", "text", "integer")
    given = ", ".join(f"CAST(?{place} AS {kind}[])" for place, kind in enumerate(types, 3))
    yield Query(
        f"INSERT INTO {tables.entries} "
        f"(owner, session, key, is_event, author, timestamp, at, content, metadata, facts, words, length) "
        f"SELECT CAST(?1 AS bigint), CAST(?2 AS text), k, e, a, t, s, c, m, string_to_array(f, chr(31)), "
        f"CAST(w AS tsvector), l FROM unnest({given}) WITH ORDINALITY AS new (k, e, a, t, s, c, m, f, w, l, place) "
        f"ORDER BY place",
        (owner, session, *columns),
    )
    yield from _counted(tables, owner, len(rows), sum(length for _, length in vectors))
