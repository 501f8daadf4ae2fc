"""Vectors: each entry's vector, whole and as one bit a number; a search finds its candidates by the bits.

A search compares all of a user's bits, so that other users' entries change neither what it finds nor how fast;
decision 0019 has the figures, compared with an index of neighbours. It then compares the best candidates exactly.
If a user has few entries, it compares all of them exactly.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from newel.memory import Embedder
from newel.memory.embedding import no_vectors, other_vectors
from newel.sessions.stored.steps import Query, Steps
from newel_postgres.memory.conditions import Conditions
from newel_postgres.memory.tables import Tables
from newel_postgres.memory.texts import read, stored

#: Up to this many entries, all are compared exactly.
FEW = 2000
#: How many candidates the bits give.
_CANDIDATES = 400
#: The columns of the one row that `vectors_in` reads.
FIELDS = "v.name, v.dimension, v.generation"
#: The advisory lock of the vectors: adding entries shares it, changing which vectors count takes it exclusively.
_LOCK = 0x6D6D7276


@dataclass(frozen=True, slots=True)
class Vectors:
    """The embedder and the dimension of the vectors in use; `generation` tells one conversion's from the next."""

    name: str
    dimension: int
    generation: int


def locked(alone: bool) -> str:
    """The function that takes the lock of the vectors until the end of the transaction."""
    return f"pg_advisory_xact_lock{'' if alone else '_shared'}({_LOCK})"


def stored_vectors(tables: Tables) -> Steps[Vectors | None]:
    """The vectors in use; None if the memory has no vectors."""
    return vectors_in((yield Query(f"SELECT {FIELDS} FROM {tables.embedder} AS v")).rows[0])


def vectors_in(row: Sequence[object]) -> Vectors | None:
    """The same, from a row that begins with FIELDS."""
    name, dimension, generation = row[:3]
    if name is None:
        return None
    assert isinstance(name, str)
    assert isinstance(dimension, int)
    assert isinstance(generation, int)
    return Vectors(read(name), dimension, generation)


def agreed(tables: Tables, has: Vectors | None, embedder: Embedder | None) -> Steps[None]:
    """Raise EmbedderMismatchError if the memory's vectors are not the embedder's."""
    if has is None:
        if embedder is not None and (yield Query(f"SELECT 1 FROM {tables.entries} LIMIT 1")).rows:
            raise no_vectors()
    elif embedder is None or (has.name, has.dimension) != (embedder.name, embedder.dimension):
        raise other_vectors(has.name, has.dimension, embedder)


def begun(tables: Tables) -> Steps[int]:
    """The number of a new generation, which no search sees before it is adopted."""
    sql = f"UPDATE {tables.embedder} SET begun = begun + 1 RETURNING begun"
    return int((yield Query(sql)).rows[0][0])


def adopted(tables: Tables, embedder: Embedder, generation: int) -> Steps[Vectors]:
    """Make a generation the vectors in use."""
    sql = f"UPDATE {tables.embedder} SET name = ?1, dimension = ?2, generation = ?3"
    yield Query(sql, (stored(embedder.name), embedder.dimension, generation))
    return Vectors(embedder.name, embedder.dimension, generation)


def put(tables: Tables, generation: int, numbers: Sequence[int], texts: Sequence[str]) -> Steps[None]:
    """Store the vectors of entries, except entries that were forgotten meanwhile or already have theirs."""
    vector = f"{tables.extension}vector"
    columns = "(number, generation, owner, {}) SELECT number, CAST(?1 AS bigint), owner, {} FROM new"
    yield Query(
        f"WITH new AS MATERIALIZED (SELECT e.number, e.owner, CAST(made AS {vector}) AS vector "
        f"FROM unnest(CAST(?2 AS bigint[]), CAST(?3 AS text[])) AS given (place, made) "
        f"JOIN {tables.entries} AS e ON e.number = place FOR KEY SHARE OF e), "
        f"whole AS (INSERT INTO {tables.vectors} {columns.format('vector', 'vector')} ON CONFLICT DO NOTHING) "
        f"INSERT INTO {tables.bits} {columns.format('bits', f'{tables.extension}binary_quantize(vector)')} "
        f"ON CONFLICT DO NOTHING",
        (generation, numbers, texts),
    )


def nearest(
    tables: Tables, of: Vectors, vector: str, where: Conditions, entries: int, most: int, also: Sequence[int]
) -> Steps[list[tuple[int, float]]]:
    """The entries whose vectors are nearest, at least `most`, and the entries in `also`, each with its cosine.

    `entries` is how many entries the user has.
    """
    narrow, values = where.sql(5)
    others = "CAST(?4 AS bigint[])"
    condition = f" AND number IN (SELECT number FROM {tables.entries} WHERE owner = ?1{narrow})" if narrow else ""
    if narrow and entries > FEW:
        several, params = where.sql(2)
        sql = f"SELECT 1 FROM {tables.entries} WHERE owner = ?1{several} LIMIT {FEW + 1:d}"
        entries = int((yield Query(f"SELECT count(*) FROM ({sql}) AS chosen", (where.owner, *params))).rows[0][0])
    # As a subquery it is computed once, and not for each row.
    question = f"(SELECT CAST(CAST(?3 AS text) AS {tables.extension}vector))"
    if entries > FEW:
        bits = f"(SELECT {tables.extension}binary_quantize(CAST(CAST(?3 AS text) AS {tables.extension}vector)))"
        condition = (
            f" AND number = ANY(ARRAY(SELECT number FROM {tables.bits} WHERE owner = ?1 AND generation = ?2{condition} "
            f"ORDER BY bits OPERATOR({tables.extension}<~>) {bits} LIMIT {max(_CANDIDATES, 2 * most):d}) || {others})"
        )
    sql = (
        f"SELECT number, near FROM (SELECT number, 1 - (vector OPERATOR({tables.extension}<=>) {question}) AS near "
        f"FROM {tables.vectors} WHERE owner = ?1 AND generation = ?2{condition}) AS found "
        f"WHERE near <> 'NaN' "  # an empty vector has no angle
        f"ORDER BY number = ANY({others}) DESC, near DESC, number DESC LIMIT {most + len(also):d}"
    )
    rows = (yield Query(sql, (where.owner, of.generation, vector, list(also), *values))).rows
    return [(number, float(near)) for number, near in rows]


def text_of(vector: array[float]) -> str:
    """A vector as pgvector reads it: nine digits are all that a float of 32 bits has."""
    return f"[{','.join(format(number, '.9g') for number in vector)}]"
