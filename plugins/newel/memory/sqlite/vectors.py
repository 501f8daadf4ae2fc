"""Vectors: each entry's, kept exactly and as one bit per number; by the bits a search finds its candidates.

sqlite-vec compares with every vector of the user; with bits that is 32 times less to read. The best of them are then
compared exactly, and so is everything if a user has few entries.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from newel.memory.embedder import Embedder
from newel.memory.embedding import no_vectors, other_vectors
from newel.memory.sqlite.binding import binding, load_vectors
from newel.memory.sqlite.conditions import Conditions

#: Up to this many entries, all are compared exactly.
FEW = 2000
#: How many candidates the bits give.
_CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class Vectors:
    """The embedder of a file's vectors, and their dimension; `tables` tells one conversion's tables from the next."""

    name: str
    dimension: int
    tables: int

    @property
    def exact(self) -> str:
        """The table of whole vectors."""
        return f"vectors_{self.tables:d}"

    @property
    def bits(self) -> str:
        """The table of their bits."""
        return f"bits_{self.tables:d}"

    def are_of(self, embedder: Embedder | None) -> bool:
        """Whether the embedder made them."""
        return embedder is not None and (self.name, self.dimension) == (embedder.name, embedder.dimension)


def stored(connection: sqlite3.Connection) -> Vectors | None:
    """The vectors that the file has; None: it has none."""
    meta = dict(connection.execute("SELECT key, value FROM meta WHERE key LIKE 'vectors.%'").fetchall())
    if not meta:
        return None
    ready(connection)
    return Vectors(meta["vectors.name"], int(meta["vectors.dimension"]), int(meta["vectors.tables"]))


def agreed(connection: sqlite3.Connection, embedder: Embedder | None) -> Vectors | None:
    """The file's vectors, if they are the embedder's; raises EmbedderMismatchError if they are not."""
    current = stored(connection)
    if current is None:
        if embedder is not None and connection.execute("SELECT 1 FROM entries LIMIT 1").fetchone():
            raise no_vectors()
        return None
    if not current.are_of(embedder):
        raise other_vectors(current.name, current.dimension, embedder)
    return current


def make(connection: sqlite3.Connection, embedder: Embedder, number: int) -> Vectors:
    """The empty tables for an embedder's vectors; `adopt` makes them the file's."""
    ready(connection)
    new = Vectors(embedder.name, embedder.dimension, number)
    connection.execute(f"CREATE TABLE {new.exact} (number INTEGER PRIMARY KEY, owner INTEGER, vector BLOB NOT NULL)")
    connection.execute(f"CREATE INDEX {new.exact}_owner ON {new.exact} (owner)")
    connection.execute(
        f"CREATE VIRTUAL TABLE {new.bits} USING vec0(number INTEGER PRIMARY KEY, owner INTEGER PARTITION KEY, "
        f"bits BIT[{new.dimension:d}], chunk_size=1024)"
    )
    return new


def adopt(connection: sqlite3.Connection, new: Vectors) -> None:
    """From now on these are the file's vectors."""
    fields = {"vectors.name": new.name, "vectors.dimension": str(new.dimension), "vectors.tables": str(new.tables)}
    connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", list(fields.items()))


def drop(connection: sqlite3.Connection, number: int) -> None:
    """Drop the tables of that number, if they exist."""
    ready(connection)
    connection.execute(f"DROP TABLE IF EXISTS vectors_{number:d}")
    connection.execute(f"DROP TABLE IF EXISTS bits_{number:d}")


def put(connection: sqlite3.Connection, into: Vectors, number: int, owner: int, vector: bytes) -> None:
    """Store the vector of an entry."""
    connection.execute(f"INSERT INTO {into.exact} VALUES (?, ?, ?)", (number, owner, vector))
    connection.execute(f"INSERT INTO {into.bits} VALUES (?, ?, vec_quantize_binary(?))", (number, owner, vector))


def remove(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Delete the vectors of entries, including those of a conversion that is running or broke off."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'vectors_[0-9]*'"
    for (exact,) in connection.execute(tables).fetchall():
        ready(connection)
        for table in (exact, exact.replace("vectors", "bits")):
            connection.executemany(f"DELETE FROM {table} WHERE number = ?", [(number,) for number in numbers])


def nearest(
    connection: sqlite3.Connection, of: Vectors, vector: bytes, where: Conditions, most: int, also: Sequence[int]
) -> list[tuple[int, float]]:
    """The entries whose vectors are nearest, `most` at least, and the others that are named, each with its cosine."""
    others = ", ".join(f"{number:d}" for number in also)
    several = f"SELECT count(*) FROM (SELECT 1 FROM entries e WHERE {where.sql} LIMIT {FEW + 1:d})"
    candidates, values = f"SELECT e.number FROM entries e WHERE {where.sql}", where.values
    if connection.execute(several, where.values).fetchone()[0] > FEW:
        narrow = f" AND number IN ({candidates})" if where.narrow else ""
        near = connection.execute(
            f"SELECT number FROM {of.bits} WHERE bits MATCH vec_quantize_binary(?) AND owner = ? AND k = ?{narrow}",
            (vector, where.owner, max(_CANDIDATES, 2 * most), *(where.values if narrow else ())),
        ).fetchall()
        candidates, values = ", ".join(f"{number:d}" for number in {*also, *(number for (number,) in near)}), ()
    rows = connection.execute(
        f"SELECT number, 1 - vec_distance_cosine(vector, ?) AS near FROM {of.exact} "
        f"WHERE number IN ({candidates}) ORDER BY number IN ({others}) DESC, near DESC, number DESC LIMIT ?",
        (vector, *values, most + len(also)),
    ).fetchall()
    return [(number, near) for number, near in rows if near is not None]  # an empty vector has no angle


def ready(connection: sqlite3.Connection) -> None:
    """Load sqlite-vec if the connection has not got it."""
    try:
        connection.execute("SELECT vec_version()").fetchone()
    except binding().Error:
        load_vectors(connection)
