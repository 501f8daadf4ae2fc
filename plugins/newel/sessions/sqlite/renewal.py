"""SqliteRenewal: renews leases over a connection of its own, which waits for no writer of this process."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from newel.sessions.sqlite.database import MEMORY, STATEMENTS, SqliteDatabase, run
from newel.sessions.stored import clockwork
from newel.sessions.stored.leases import Lease
from newel.sessions.stored.steps import Batch
from newel.sessions.stored.writes import Renew, Renewed

#: How long it waits at a time for other writers of the file, in seconds: so long a fork may have to wait.
_RETRY = 0.25


class SqliteRenewal:
    """Renews the leases of a file (see `Renewal`)."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._is_resting = False

    def renew(self, leases: Sequence[Lease], seconds: float) -> Renewed:
        """Renew them in one transaction. It waits for other writers of the file, `seconds` at most."""
        if self._database.path == MEMORY:  # nobody else can take them
            return Renewed(leases, ())
        end = clockwork.elapsed() + seconds
        with self._database.explained("written"), closing(self._database.connect(min(seconds, _RETRY))) as connection:
            while True:
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    break
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error) or self._is_resting or clockwork.elapsed() >= end:
                        raise
            self._database.check_files()
            renewed = run(connection, Renew(leases).steps(STATEMENTS, Batch()))
            connection.execute("COMMIT")
            return renewed

    def close(self) -> None:
        """There is no connection between two renewals."""

    def rest(self) -> None:
        """See `Renewal`."""
        self._is_resting = True

    def after_fork_in_parent(self) -> None:
        """See `Renewal`."""
        self._is_resting = False

    after_fork_in_child = after_fork_in_parent
