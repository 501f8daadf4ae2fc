"""SqliteRenewal: renews leases over a connection of its own, which waits for no writer of this process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from newel.sessions.sqlite.database import MEMORY, STATEMENTS, SqliteDatabase, run
from newel.sessions.stored.leases import Lease
from newel.sessions.stored.steps import Batch
from newel.sessions.stored.writes import Renew, Renewed


class SqliteRenewal:
    """Renews the leases of a file (see `Renewal`)."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def renew(self, leases: Sequence[Lease], seconds: float) -> Renewed:
        """Renew them in one transaction. It waits for other writers of the file, `seconds` at most."""
        if self._database.path == MEMORY:  # nobody else can take them
            return Renewed(leases, ())
        with self._database.explained("written"), closing(self._database.connect(seconds)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._database.check_files()
            renewed = run(connection, Renew(leases).steps(STATEMENTS, Batch()))
            connection.execute("COMMIT")
            return renewed

    def close(self) -> None:
        """There is no connection between two renewals."""

    before_fork = after_fork_in_child = close
