"""DatabaseSessionService: sessions in a database that SQLAlchemy reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from newel.sessions.database.engine import Engines, SqlDatabase
from newel.sessions.sqlite.service import SqliteFile
from newel.sessions.stored.database import Database
from newel.sessions.stored.leases import Leases
from newel.sessions.stored.service import StoredSessionService
from newel_kernel import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine


class DatabaseSessionService(StoredSessionService):
    """Sessions in the database of an SQLAlchemy URL, or of an engine: SQLite, PostgreSQL, MariaDB or MySQL.

    The tables are newel's own, the same as those of `SqliteSessionService` and `PostgresSessionService`. `engine` holds
    arguments of SQLAlchemy's `create_async_engine`: by default at most 8 connections. `patience` is how many seconds to
    wait for a database that does not answer, before StoreUnavailableError. A given `db_engine` is not disposed of.
    With `read_only`, which takes a `db_url`, the tables must exist, and are neither migrated nor written.
    """

    def __init__(
        self,
        db_url: str | None = None,
        db_engine: AsyncEngine | None = None,
        *,
        patience: float = 15.0,
        live_sessions: int | None = None,
        read_only: bool = False,
        **engine: Any,
    ) -> None:
        if (db_url is None) == (db_engine is None):
            raise ConfigurationError("DatabaseSessionService needs a `db_url` or a `db_engine`, and not both")
        leases = Leases()
        if read_only and db_url is None:
            raise ConfigurationError("`read_only` needs a `db_url`: an engine makes its connections itself")
        engines = Engines.of(db_url, db_engine, patience, engine, read_only=read_only)
        database: Database
        if engines.in_memory:
            if engine:
                raise ConfigurationError(
                    f"a database in memory has no connections to set up: leave out {', '.join(sorted(engine))}"
                )
            database = SqliteFile(":memory:", leases)
        elif read_only and engines.dialect.name == "sqlite":
            database = SqliteFile(engines.path, leases, patience, read_only=True)
        else:
            database = SqlDatabase(engines, leases)
        super().__init__(database, leases, live_sessions=live_sessions)
