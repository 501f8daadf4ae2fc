"""Steps: a read or a write as a generator of statements, which each database runs with its own driver.

It yields a `Query`, is sent the `Reply`, and returns the result; the database knows nothing of what it runs.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from newel.sessions.event_log import EventLog
from newel.sessions.stored.rows import Key
from newel.sessions.stored.statements import Statements
from newel_kernel import Event

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)


class Query(NamedTuple):
    """A statement with parameters ?1, ?2 …, and their values."""

    sql: str
    values: Sequence[Any] = ()
    #: How long it may take, if that is more than a driver's own time limit.
    seconds: float | None = None


class Reply(NamedTuple):
    """The rows of a statement, and how many it has changed."""

    rows: Sequence[Sequence[Any]]
    #: Known if the statement returns no rows.
    rowcount: int

    def changed(self, returning: bool) -> bool:
        """Whether a row was changed, by a statement that returns the changed rows if the dialect can."""
        return bool(self.rows if returning else self.rowcount)


Steps: TypeAlias = Generator[Query, Reply, T]


class Trouble(Exception):
    """The connection was lost, the database is busy, or two transactions collided: a retry may succeed in a moment."""


class RolledBack(Exception):
    """Ends a write that turns out to have been made before: its statements are undone, and `result` is its result."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


class Batch:
    """One transaction: the events that it adds to each log when it commits."""

    def __init__(self) -> None:
        self._added: dict[int, tuple[EventLog, int, list[Event]]] = {}

    def added(self, log: EventLog) -> list[Event]:
        """The events that this transaction has added to `log` so far."""
        return self._added[id(log)][2] if id(log) in self._added else []

    def add(self, log: EventLog, sequence: int, event: Event) -> None:
        """Add `event` to `log` when the transaction is committed."""
        self._added.setdefault(id(log), (log, sequence, []))[2].append(event)

    def grow(self) -> None:
        """Add the committed events to their logs."""
        for log, first, events in self._added.values():
            log.grow(first, events)


class Write(Protocol[R_co]):
    """A change. It raises a SessionError before it has changed anything, or not at all."""

    @property
    def key(self) -> Key:
        """The session that it changes. Writes of one session take turns, and a group locks sessions in this order."""

    @property
    def single(self) -> bool:
        """Whether it is a single statement, if the database can express all of it in one."""

    @property
    def shared(self) -> bool:
        """Whether it writes rows that sessions share; then no other write is in its transaction: two could deadlock."""

    def steps(self, sql: Statements, batch: Batch) -> Generator[Query, Reply, R_co]:
        """Its statements, one transaction."""


class Read(Protocol[R_co]):
    """A query that changes nothing."""

    @property
    def many(self) -> bool:
        """Whether the answer may have so many rows that getting them takes long."""

    def steps(self, sql: Statements) -> Generator[Query, Reply, R_co]:
        """Its statements; values that belong together come from one of them."""
