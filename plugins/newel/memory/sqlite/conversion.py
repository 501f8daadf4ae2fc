"""Conversion: remakes a memory's vectors with another embedder, next to the old ones until all are made.

Of two concurrent conversions the one that began last goes on: each has its own number, and its own tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from newel.memory.embedder import Embedder
from newel.memory.errors import MemoryStoreError
from newel.memory.sqlite import vectors
from newel.memory.sqlite.vectors import Vectors

#: The key of `meta` that has the number of the tables that were made last.
_LAST = "conversion.tables"


def begin(connection: sqlite3.Connection, embedder: Embedder) -> Vectors:
    """The new tables; those of a conversion that did not end are dropped."""
    current, last = vectors.stored(connection), _last(connection)
    used = current.tables if current is not None else 0
    for number in {last, used + 1} - {used}:  # the second: of a conversion that an earlier release began
        vectors.drop(connection, number)
    tables = vectors.make(connection, embedder, max(last, used) + 1)
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_LAST, str(tables.tables)))
    return tables


def _last(connection: sqlite3.Connection) -> int:
    """The number of the tables that were made last."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_LAST,)).fetchone()
    return int(row[0]) if row is not None else 0


def _check_last(connection: sqlite3.Connection, into: Vectors) -> None:
    """Raise MemoryStoreError if another conversion, or the writing of the first vectors, began meanwhile."""
    if _last(connection) != into.tables:
        raise MemoryStoreError(
            "another reindex() of this memory began in the meantime, and this one has stopped: open the memory with "
            "the embedder of that one, or call reindex() again when it has ended"
        )


def following(connection: sqlite3.Connection, after: int, most: int) -> list[tuple[int, int, str]]:
    """The next entries after the number `after`: number, owner, text."""
    sql = "SELECT number, owner, text FROM entries WHERE number > ? ORDER BY number LIMIT ?"
    return connection.execute(sql, (after, most)).fetchall()


def step(
    connection: sqlite3.Connection, into: Vectors, rows: Sequence[tuple[int, int, str]], embedded: Sequence[bytes]
) -> None:
    """Store the vectors of some entries."""
    _check_last(connection, into)
    for (number, owner, _), vector in zip(rows, embedded, strict=True):
        vectors.put(connection, into, number, owner, vector)


def finish(connection: sqlite3.Connection, into: Vectors, last: int) -> bool:
    """Adopt the new vectors, and drop the old ones; False if entries were added after the number `last`."""
    _check_last(connection, into)
    if following(connection, last, 1):
        return False
    orphans = f"SELECT number FROM {into.exact} WHERE number NOT IN (SELECT number FROM entries)"
    vectors.remove(connection, [number for (number,) in connection.execute(orphans).fetchall()])
    old = vectors.stored(connection)
    vectors.adopt(connection, into)
    if old is not None:
        vectors.drop(connection, old.tables)
    return True
