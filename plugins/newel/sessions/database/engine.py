"""SqlDatabase: the statements of a session store over SQLAlchemy's asynchronous engines."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from newel.sessions.database.database_errors import explained
from newel.sessions.sqlite.database import SqliteDatabase, offer_clock
from newel.sessions.sqlite.upkeep import backup, vacuum
from newel.sessions.stored.dialects import DIALECTS, Dialect, in_order, numbered
from newel.sessions.stored.leases import Leases
from newel.sessions.stored.pooled import Connection, Pool, PooledDatabase, driven
from newel.sessions.stored.schema import VERSION, Schema, not_to_read
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Query, Reply
from newel.sessions.stored.time_limits import (
    LOCK_SECONDS,
    mysql_limits,
    postgres_limits,
    postgres_own_limits,
    set_local,
)
from newel_kernel import ConfigurationError, FeatureUnavailableError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

_DRIVERS = {"sqlite": ("aiosqlite",), "postgresql": ("asyncpg", "psycopg"), "mysql": ("asyncmy", "aiomysql")}
_MARKS = {"qmark": "?", "numeric": ":", "numeric_dollar": "$"}
_NUMBERED = (":", "$")

#: As many as the store for PostgreSQL opens.
_CONNECTIONS = 8


class Engines:
    """The database, and the engines that reach it: one for each event loop, unless one was given."""

    def __init__(
        self,
        url: URL,
        engine: AsyncEngine | None,
        patience: float,
        settings: Mapping[str, Any],
        *,
        read_only: bool = False,
    ) -> None:
        backend = url.get_backend_name()
        if backend not in DIALECTS:
            raise ConfigurationError(
                f"sessions cannot be kept in {backend!r}: name a database of SQLite, PostgreSQL, MariaDB or MySQL"
            )
        self.dialect: Dialect = DIALECTS[backend]
        self.url = url
        self.patience = patience
        self.read_only = read_only
        self.label = repr(url.render_as_string(hide_password=True))
        self._engine = engine
        self._settings = dict(settings)

    @classmethod
    def of(
        cls,
        url: str | None,
        engine: AsyncEngine | None,
        patience: float,
        settings: Mapping[str, Any],
        *,
        read_only: bool = False,
    ) -> Engines:
        """The engines for a URL, or for a given engine; SQLAlchemy is imported here."""
        try:
            from sqlalchemy.engine import make_url
            from sqlalchemy.exc import ArgumentError
        except ImportError as error:
            raise FeatureUnavailableError("DatabaseSessionService needs SQLAlchemy: pip install 'newel[db]'") from error
        if engine is not None:
            return cls(engine.url, engine, patience, settings)
        try:
            parsed = make_url(url or "")
        except ArgumentError as error:
            raise ConfigurationError("the db_url of a session store is not an SQLAlchemy URL") from error
        return cls(asynchronous(parsed), None, patience, settings, read_only=read_only)

    @property
    def in_memory(self) -> bool:
        """Whether the database is in memory and no engine was given."""
        return self._engine is None and self.dialect.name == "sqlite" and self.url.database in (None, "", ":memory:")

    @property
    def path(self) -> str:
        """The path of the database's file."""
        return self.url.database or ""

    @property
    def connections(self) -> int:
        """How many connections are open at most."""
        return int(self._settings.get("pool_size", _CONNECTIONS)) + int(self._settings.get("max_overflow", 0))

    def engine(self) -> AsyncEngine:
        """An engine for the running loop."""
        from sqlalchemy import event
        from sqlalchemy.ext.asyncio import create_async_engine

        if self._engine is not None:
            if self.dialect.name == "sqlite" and not event.contains(self._engine.sync_engine, "checkout", _with_clock):
                event.listen(self._engine.sync_engine, "checkout", _with_clock)  # it may have connections already
            return self._engine.execution_options(isolation_level="AUTOCOMMIT")
        defaults: dict[str, Any] = {
            "pool_size": _CONNECTIONS,
            "max_overflow": 0,
            "pool_timeout": self.patience,
            "isolation_level": "AUTOCOMMIT",
            # Code that begins a transaction also ends it; a rollback of nothing would cost a round trip.
            "skip_autocommit_rollback": True,
            "pool_reset_on_return": None,
        }
        if "poolclass" in self._settings:
            defaults = {name: value for name, value in defaults.items() if not name.startswith(("pool", "max"))}
        limits = {**self._limits(), **self._settings.get("connect_args", {})}
        try:
            engine = create_async_engine(self.url, **{**defaults, **self._settings, "connect_args": limits})
        except (ImportError, TypeError, ValueError) as error:
            raise ConfigurationError(f"the session store {self.label} cannot be opened: {error}") from error
        if self.dialect.name == "sqlite":
            event.listen(engine.sync_engine, "connect", _careful)
        elif self.dialect.name == "mysql" and self.read_only:
            event.listen(engine.sync_engine, "connect", _reading)
        return engine

    def _limits(self) -> dict[str, Any]:
        """The arguments of the driver that limit its waits."""
        if self.dialect.name == "sqlite":
            return {}
        if self.dialect.name == "mysql":
            return {"init_command": mysql_limits(self.patience)}
        limits = postgres_limits(self.patience)
        if self.read_only:
            limits = {**limits, "default_transaction_read_only": "on"}
        if self.url.get_driver_name() == "asyncpg":
            return {"server_settings": limits}
        return {"options": " ".join(f"-c {name}={value}" for name, value in limits.items())}

    async def end(self, engine: AsyncEngine) -> None:
        """Close an engine that `engine` made."""
        if self._engine is None:
            await engine.dispose()


def asynchronous(url: URL) -> URL:
    """The URL, with a driver for asyncio if it names none."""
    backend, has_driver = url.get_backend_name(), "+" in url.drivername
    drivers = _DRIVERS.get("mysql" if backend == "mariadb" else backend, ())
    if has_driver and drivers and url.get_driver_name() not in drivers:
        raise ConfigurationError(
            f"{url.get_driver_name()!r} is not an asynchronous driver: write "
            f"{' or '.join(f'{backend}+{d}' for d in drivers)}"
        )
    if has_driver or not drivers:
        return url
    installed = [driver for driver in drivers if find_spec(driver)]
    if not installed:
        raise FeatureUnavailableError(f"no driver for {backend} is installed: pip install {drivers[0]}")
    return url.set(drivername=f"{backend}+{installed[0]}")


def _careful(connection: Any, record: object) -> None:
    """An SQLite connection that loses no commit at a power failure."""
    cursor = connection.cursor()
    for setting in ("synchronous = FULL", "fullfsync = ON", f"busy_timeout = {LOCK_SECONDS * 1000:.0f}"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()
    offer_clock(connection)


def _reading(connection: Any, record: object) -> None:
    """A connection of MariaDB or MySQL that refuses to write."""
    cursor = connection.cursor()
    cursor.execute("SET SESSION TRANSACTION READ ONLY")
    cursor.close()


def _with_clock(connection: Any, record: object, proxy: object) -> None:
    offer_clock(connection)


class SqlDatabase(PooledDatabase):
    """A database that SQLAlchemy reaches."""

    def __init__(self, engines: Engines, leases: Leases) -> None:
        super().__init__(engines.label, Statements(engines.dialect), leases, patience=engines.patience)
        self._engines = engines
        self.one_statement_commits = engines.dialect.at_once
        self.writers = 1 if engines.dialect.name == "sqlite" else engines.connections

    def make_pool(self) -> Pool:
        """An engine for the running loop."""
        return _EnginePool(self._engines)

    async def vacuum(self) -> None:
        """See `Database`."""
        if self._engines.dialect.name != "sqlite":
            await super().vacuum()
            return
        await self._with_file(vacuum)

    async def backup(self, target: str) -> None:
        """See `Database`."""
        if self._engines.dialect.name != "sqlite":
            await super().backup(target)
            return
        await self._with_file(partial(backup, target=target))

    async def _with_file(self, work: Callable[[SqliteDatabase], None]) -> None:
        def run() -> None:
            file = SqliteDatabase(self._engines.path)
            try:
                work(file)
            finally:
                file.close()

        await asyncio.to_thread(run)

    async def prepare(self, connection: Connection) -> None:
        """Make the tables, or bring them to this version."""
        dialect, schema = self._engines.dialect, Schema(self._engines.dialect, "", self._engines.label)
        if dialect.name == "sqlite":
            await asyncio.to_thread(lambda: SqliteDatabase(self._engines.path).close())
            return
        if await driven(connection, schema.version()) == VERSION:
            return
        if self._engines.read_only:
            raise not_to_read(self._engines.label)
        if dialect.at_once:
            async with connection.transaction():
                await connection.run(Query("SELECT pg_advisory_xact_lock(474416439660)"))
                await driven(connection, schema.migration())
            return
        # Here a change of the schema commits by itself; the lock ends with the connection.
        await connection.run(Query("SELECT GET_LOCK('newel_schema', 60)"))
        try:
            await driven(connection, schema.migration())
        finally:
            await connection.run(Query("SELECT RELEASE_LOCK('newel_schema')"))


class _EnginePool(Pool):
    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._engine = engines.engine()
        style = self._engine.dialect.paramstyle
        self._mark = _MARKS.get(style, "%s")

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        with explained(self._engines.label):
            connection = await self._engine.connect()
        try:
            yield _EngineConnection(connection, self._engines, self._mark)
        except BaseException:
            with suppress(Exception):
                await connection.invalidate()
            raise
        finally:
            with suppress(Exception):
                await connection.close()

    async def close(self) -> None:
        await self._engines.end(self._engine)


class _EngineConnection(Connection):
    def __init__(self, connection: AsyncConnection, engines: Engines, mark: str) -> None:
        self._connection = connection
        self._engines = engines
        self._mark = mark

    async def run(self, query: Query) -> Reply:
        statement = (numbered if self._mark in _NUMBERED else in_order)(query.sql, self._mark)
        with explained(self._engines.label):
            result = await self._connection.exec_driver_sql(statement.text, tuple(statement.values(query.values)))
            rows = result.fetchall() if result.returns_rows else ()
        return Reply(rows, 0 if rows else result.rowcount)

    @asynccontextmanager
    async def transaction(self, shortest_lease: float = math.inf) -> AsyncIterator[None]:
        await self.run(Query(self._engines.dialect.begin))
        try:
            patience = self._engines.patience
            if self._engines.dialect.at_once and (own := postgres_own_limits(shortest_lease, patience)):
                await self.run(Query(set_local(own)))
            yield
        except Exception:
            await self.run(Query("ROLLBACK"))
            raise
        await self.run(Query("COMMIT"))
