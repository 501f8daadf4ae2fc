"""Conditions: the owner and the filter of a search, as SQL."""

from __future__ import annotations

from dataclasses import dataclass

from newel.memory import MemoryFilter
from newel_postgres.memory.lexemes import fact_of
from newel_postgres.memory.texts import maybe


@dataclass(frozen=True, slots=True)
class Conditions:
    """The entries of `owner` that the filter admits."""

    owner: int
    filter: MemoryFilter | None

    def sql(self, first: int) -> tuple[str, list[object]]:
        """The SQL after the condition on the owner, with parameters from ?`first` on, and the parameters' values."""
        if self.filter is None:
            return "", []
        since, until = self.filter.since, self.filter.until
        candidates: list[tuple[str, object]] = [
            ("session = CAST({} AS text)", maybe(self.filter.session_id)),
            ("author = CAST({} AS text)", maybe(self.filter.author)),
            ("at >= CAST({} AS double precision)", since.timestamp() if since is not None else None),
            ("at <= CAST({} AS double precision)", until.timestamp() if until is not None else None),
        ]
        if self.filter.metadata:
            facts = [fact_of(key, value) for key, value in self.filter.metadata.items()]
            candidates.append(("facts @> CAST({} AS text[])", facts))
        pairs = [(clause, value) for clause, value in candidates if value is not None]
        clauses = [f" AND {clause.format(f'?{place}')}" for place, (clause, _) in enumerate(pairs, first)]
        return "".join(clauses), [value for _, value in pairs]
