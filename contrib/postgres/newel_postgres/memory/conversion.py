"""Conversion: remakes a memory's vectors with another embedder, next to the old ones until all are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from newel.memory import Embedder, EmbedderMismatchError
from newel.memory.rows import words_of
from newel.sessions.stored.steps import Query, Steps
from newel_postgres.memory.tables import Tables
from newel_postgres.memory.vectors import adopted, begun, locked, put, stored_vectors
from newel_types import Content

#: How long the old vectors may take to be deleted, in seconds.
_CLEARING = 3600.0


@dataclass(frozen=True, slots=True)
class Begin:
    """Gives the number of a new generation of vectors."""

    def steps(self, tables: Tables) -> Steps[int]:
        """See `Work`."""
        return (yield from begun(tables))


@dataclass(frozen=True, slots=True)
class Following:
    """Gives the next entries after a number, as number and text."""

    after: int
    most: int

    def steps(self, tables: Tables) -> Steps[list[tuple[int, str]]]:
        """See `Work`."""
        sql = f"SELECT number, content FROM {tables.entries} WHERE number > ?1 ORDER BY number LIMIT ?2"
        return _texts((yield Query(sql, (self.after, self.most))).rows)


@dataclass(frozen=True, slots=True)
class Step:
    """Stores the vectors of some entries."""

    generation: int
    rows: Sequence[tuple[int, str]]
    vectors: Sequence[str]

    def steps(self, tables: Tables) -> Steps[None]:
        """See `Work`."""
        yield from put(tables, self.generation, [number for number, _ in self.rows], self.vectors)


@dataclass(frozen=True, slots=True)
class Finish:
    """Switches searches to the new vectors; or gives the entries that have none yet, and changes nothing.

    Entry numbers do not follow the order of commits, so any entry may still lack a vector.
    """

    generation: int
    embedder: Embedder

    def steps(self, tables: Tables) -> Steps[list[tuple[int, str]]]:
        """See `Work`."""
        yield Query(f"SELECT FROM {locked(alone=True)}")
        has = yield from stored_vectors(tables)
        if has is not None and has.generation > self.generation:
            raise EmbedderMismatchError(
                f"another reindex() has converted the memory to {has.name!r} ({has.dimension}) meanwhile: open it with "
                f"that embedder, or call reindex() again"
            )
        sql = (
            f"SELECT number, content FROM {tables.entries} AS e WHERE NOT EXISTS (SELECT FROM {tables.vectors} AS v "
            f"WHERE v.number = e.number AND v.generation = ?1) ORDER BY number LIMIT ?2"
        )
        remaining = _texts((yield Query(sql, (self.generation, self.embedder.batch))).rows)
        if not remaining:
            yield from adopted(tables, self.embedder, self.generation)
        return remaining


@dataclass(frozen=True, slots=True)
class Clear:
    """Deletes the vectors of generations before the one in use, those of aborted conversions included."""

    def steps(self, tables: Tables) -> Steps[None]:
        """See `Work`."""
        for table in (tables.vectors, tables.bits):
            sql = f"DELETE FROM {table} WHERE generation < (SELECT generation FROM {tables.embedder})"
            yield Query(sql, seconds=_CLEARING)


def _texts(rows: Sequence[Sequence[Any]]) -> list[tuple[int, str]]:
    return [(number, words_of(Content.model_validate_json(content))) for number, content in rows]
