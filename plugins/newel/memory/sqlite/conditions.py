"""Conditions: whose entries, and which of them, as SQL."""

from __future__ import annotations

from dataclasses import dataclass

from newel.memory.memory_filter import MemoryFilter


@dataclass(frozen=True, slots=True)
class Conditions:
    """What follows WHERE for the table `entries` as e, and its values. The owner is always part of it."""

    owner: int
    sql: str
    values: tuple[object, ...]
    #: Whether there are conditions other than the owner.
    narrow: bool


def conditions(owner: int, condition: MemoryFilter | None) -> Conditions:
    """The entries of `owner` that the filter admits."""
    clauses: list[tuple[str, tuple[object, ...]]] = []
    if condition is not None:
        since = None if condition.since is None else condition.since.timestamp()
        until = None if condition.until is None else condition.until.timestamp()
        for sql, value in (
            ("e.session = ?", condition.session_id),
            ("e.author = ?", condition.author),
            ("e.at >= ?", since),
            ("e.at <= ?", until),
        ):
            if value is not None:
                clauses.append((sql, (value,)))
        for key, expected in condition.metadata.items():
            same = f"j.key = ? AND j.value = ? AND j.type IN {_KINDS[type(expected)]}"
            clauses.append((f"EXISTS (SELECT 1 FROM json_each(e.metadata) j WHERE {same})", (key, _bound(expected))))
    sql = " AND ".join(["e.owner = ?", *(clause for clause, _ in clauses)])
    return Conditions(owner, sql, (owner, *(one for _, own in clauses for one in own)), bool(clauses))


def _bound(value: str | bool | int | float) -> str | bool | int | float | None:
    """A value as SQLite holds it: an integer of more than 64 bits becomes a float; None: no entry can have it."""
    try:
        if isinstance(value, str):
            value.encode()
        elif not -(2**63) <= value < 2**63:
            return float(value)
    except (UnicodeEncodeError, OverflowError):
        return None
    return value


#: The names of these types in JSON, as SQLite reports them.
_KINDS: dict[type, str] = {
    str: "('text')",
    bool: "('true', 'false')",
    int: "('integer', 'real')",
    float: "('integer', 'real')",
}
