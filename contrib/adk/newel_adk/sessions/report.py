"""The report of an import."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RowNote:
    """A row that was not imported unchanged: its table and key, and why."""

    table: str
    key: tuple[str, ...]
    reason: str

    @classmethod
    def of(cls, table: str, key: Iterable[object], reason: object) -> RowNote:
        """The entry for any key; bytes that are not UTF-8 become question marks."""
        return cls(table, tuple(_text(part) for part in key), _text(reason))

    def __str__(self) -> str:
        return f"{self.table} {' / '.join(self.key)}: {self.reason}"


def _text(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode()


@dataclass(slots=True)
class Report:
    """The counts of an import, and the single rows to report."""

    source: str
    sessions: int = 0
    #: Of those: created now, continued now, and already complete in the store.
    sessions_added: int = 0
    sessions_continued: int = 0
    sessions_there: int = 0
    events_added: int = 0
    events_there: int = 0
    #: Rows that cannot be read; they are not in the store.
    unreadable: list[RowNote] = field(default_factory=list)
    #: Events of sessions that do not exist.
    orphans: list[RowNote] = field(default_factory=list)
    #: Sessions whose events in the store are not the first events of the source's session.
    conflicts: list[RowNote] = field(default_factory=list)
    #: Calls that got an error as their result, and results without a call, which are left out.
    repaired: list[RowNote] = field(default_factory=list)
    #: Fields of actions that this release does not know, and how many events have them.
    unknown_fields: dict[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether everything came over."""
        return not (self.unreadable or self.orphans or self.conflicts)

    def note_unknown(self, fields: Iterable[str]) -> None:
        """Count the fields of an event."""
        for name in fields:
            self.unknown_fields[name] = self.unknown_fields.get(name, 0) + 1

    def sort(self) -> None:
        """Sort the rows by table and key: sessions are read several at a time."""
        for rows in (self.unreadable, self.orphans, self.conflicts, self.repaired):
            rows.sort(key=lambda one: (one.table, one.key))
