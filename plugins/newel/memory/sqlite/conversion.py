"""Conversion: a memory's vectors made anew by another embedder, beside the old ones until all are there."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from newel.memory.embedder import Embedder
from newel.memory.sqlite import vectors
from newel.memory.sqlite.vectors import Vectors


def begin(connection: sqlite3.Connection, embedder: Embedder) -> Vectors:
    """The new tables; those of a conversion that did not end are dropped."""
    has = vectors.stored(connection)
    number = (has.tables if has is not None else 0) + 1
    vectors.drop(connection, number)
    return vectors.make(connection, embedder, number)


def following(connection: sqlite3.Connection, after: int, most: int) -> list[tuple[int, int, str]]:
    """The next entries behind the number `after`: number, owner, text."""
    sql = "SELECT number, owner, text FROM entries WHERE number > ? ORDER BY number LIMIT ?"
    return connection.execute(sql, (after, most)).fetchall()


def step(
    connection: sqlite3.Connection, into: Vectors, rows: Sequence[tuple[int, int, str]], embedded: Sequence[bytes]
) -> None:
    """Store the vectors of some entries."""
    for (number, owner, _), vector in zip(rows, embedded, strict=True):
        vectors.put(connection, into, number, owner, vector)


def finish(connection: sqlite3.Connection, into: Vectors, last: int) -> bool:
    """Adopt the new vectors, and drop the old ones; False where entries came behind the number `last`."""
    if following(connection, last, 1):
        return False
    gone = f"SELECT number FROM {into.exact} WHERE number NOT IN (SELECT number FROM entries)"
    vectors.remove(connection, [number for (number,) in connection.execute(gone).fetchall()])
    old = vectors.stored(connection)
    vectors.adopt(connection, into)
    if old is not None:
        vectors.drop(connection, old.tables)
    return True
