"""Writes: what adds entries to a memory's file and takes them out, each within one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from newel.memory.embedder import Embedder
from newel.memory.rows import Existing, Row
from newel.memory.sqlite import vectors
from newel.memory.sqlite.conversion import begin
from newel.memory.terms import indexed

_FIELDS = "owner, session, key, is_event, author, timestamp, at, content, metadata, text"


@dataclass(frozen=True, slots=True)
class Addition:
    """Rows for one session of a user."""

    app: str
    user: str
    session: str
    rows: Sequence[Row]
    existing: Existing

    def missing(
        self, connection: sqlite3.Connection, embedder: Embedder | None, embedded: Mapping[str, bytes]
    ) -> list[str]:
        """Write the rows; if texts have no vector yet, write nothing and return those."""
        current = vectors.agreed(connection, embedder)
        owner = _owner(connection, self.app, self.user)
        stored = _entries(connection, owner, self.session) if owner is not None else {}
        rows = {row.key: row for row in self.rows}
        new = [row for key, row in rows.items() if key not in stored or self._differs(row, stored[key])]
        if embedder is not None:
            texts = list({row.text: None for row in new if row.text not in embedded})
            if texts:
                return texts
        old = [stored[row.key][0] for row in new if row.key in stored]
        if self.existing is Existing.WHOLE_SESSION:
            old += [entry[0] for key, entry in stored.items() if key not in rows]
        _delete(connection, old)
        if not new:
            return []
        if current is None and embedder is not None:
            current = begin(connection, embedder)
            vectors.adopt(connection, current)
        if owner is None:
            owner = _new_owner(connection, self.app, self.user)
        for row in new:
            number = _insert(connection, owner, self.session, row)
            if current is not None:
                vectors.put(connection, current, number, owner, embedded[row.text])
        return []

    def _differs(self, row: Row, entry: tuple[int, bytes, str]) -> bool:
        return self.existing is not Existing.KEPT and (row.content, row.metadata) != entry[1:]


def forget(connection: sqlite3.Connection, app: str, user: str, session: str | None, keys: Sequence[str] | None) -> int:
    """Delete a user's entries: all, or those of a session, of some keys; return how many there were."""
    owner = _owner(connection, app, user)
    if owner is None:
        return 0
    sql = "SELECT number FROM entries WHERE owner = ?"
    values: list[object] = [owner]
    if session is not None:
        sql, values = f"{sql} AND session = ?", [*values, session]
    if keys is not None:
        sql, values = f"{sql} AND key IN ({', '.join('?' * len(keys))})", [*values, *keys]
    numbers = [number for (number,) in connection.execute(sql, values)]
    _delete(connection, numbers)
    if session is None and keys is None:
        connection.execute("DELETE FROM owners WHERE number = ?", (owner,))
    return len(numbers)


def _owner(connection: sqlite3.Connection, app: str, user: str) -> int | None:
    row = connection.execute("SELECT number FROM owners WHERE app = ? AND user = ?", (app, user)).fetchone()
    return None if row is None else int(row[0])


def _new_owner(connection: sqlite3.Connection, app: str, user: str) -> int:
    number = connection.execute("INSERT INTO owners (app, user) VALUES (?, ?)", (app, user)).lastrowid
    assert number is not None
    return number


def _entries(connection: sqlite3.Connection, owner: int, session: str) -> dict[str, tuple[int, bytes, str]]:
    sql = "SELECT key, number, content, metadata FROM entries WHERE owner = ? AND session = ?"
    return {
        key: (number, content, metadata) for key, number, content, metadata in connection.execute(sql, (owner, session))
    }


def _insert(connection: sqlite3.Connection, owner: int, session: str, row: Row) -> int:
    number = connection.execute(
        f"INSERT INTO entries ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (owner, session, row.key, row.is_event, row.author, row.timestamp, row.at, row.content, row.metadata, row.text),
    ).lastrowid
    assert number is not None
    connection.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (number, indexed(owner, row.text)))
    return number


def _delete(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    for table, column in (("words", "rowid"), ("entries", "number")):
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(number,) for number in numbers])
    vectors.remove(connection, numbers)
