"""PostgresDatabase: the statements of a session store over asyncpg."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import asyncpg

from newel.sessions.stored.dialects import POSTGRES, numbered
from newel.sessions.stored.leases import Leases
from newel.sessions.stored.pooled import Connection, Pool, PooledDatabase, Rejected, driven
from newel.sessions.stored.schema import VERSION, Schema, not_to_read
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Query, Reply, Trouble
from newel.sessions.stored.time_limits import postgres_limits, postgres_own_limits, set_local
from newel_kernel import ConfigurationError
from newel_postgres.access import Access, configure, server_settings
from newel_postgres.listener import PostgresListener

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

#: Errors that another attempt may not meet: a lost connection, a server that starts or stops, a deadlock.
_PASSING = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby during a failover
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
_CONFIGURATION_ERRORS = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.ClientConfigurationError,
)
#: Prepared statements that are gone or already there: another client used the server's connection in between.
_OF_A_PROXY = (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError)
#: The advisory lock by which the migrations of all processes take turns; no lock outlives its transaction.
_MIGRATION_LOCK = 0x6E6577656C
#: An unused connection is closed after so long: a process with nothing to do holds none.
_IDLE_SECONDS = 30.0


class PostgresDatabase(PooledDatabase):
    """A PostgreSQL database."""

    def __init__(self, access: Access, statements: Statements, leases: Leases) -> None:
        super().__init__(access.shown, statements, leases, patience=access.patience)
        self._access = access
        self.one_statement_commits = not access.proxy
        self.writers = access.pool_size
        self._sessions = statements.table("sessions")
        self._schema = Schema(POSTGRES, access.schema, access.shown)

    def make_pool(self) -> Pool:
        """A pool for the running loop."""
        return PostgresPool(self._access)

    def listener(self, wake: Callable[[int], object]) -> PostgresListener | None:
        """See `Database`. A pooler hands the connection on with each transaction: nothing is heard behind it."""
        return None if self._access.proxy else PostgresListener(self._access, self._sessions, wake)

    async def prepare(self, connection: Connection) -> None:
        """Make the tables, or bring them to this version."""
        async with connection.transaction():
            if await driven(connection, self._schema.version()) == VERSION:
                return
        if self._access.read_only:
            raise not_to_read(self._access.shown, "database or ?schema=")
        async with connection.transaction():
            await connection.run(Query("SELECT pg_advisory_xact_lock(?1)", (_MIGRATION_LOCK,)))
            await driven(connection, self._schema.migration())


class PostgresPool(Pool):
    def __init__(self, access: Access) -> None:
        self._access = access
        # Behind a proxy no statement may outlive its transaction, and each transaction sets its own limits.
        options: dict[str, Any] = (
            {"statement_cache_size": 0} if access.proxy else {"server_settings": server_settings(access)}
        )
        with translated(access):
            self._pool = asyncpg.create_pool(
                access.url,
                min_size=0,
                max_size=access.pool_size,
                max_inactive_connection_lifetime=_IDLE_SECONDS,
                timeout=access.connect_seconds,
                command_timeout=max(access.patience, 60.0),
                reset=_no_reset,  # no connection ever needs it
                init=self._configure if access.socket_options else None,
                **options,
            )

    async def _configure(self, connection: Any) -> None:
        configure(connection, self._access)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        with translated(self._access), _accepted(self._access):
            await self._pool
            connection = await self._pool.acquire(timeout=self._access.patience)
        try:
            yield _Connection(connection, self._access)
        finally:
            with translated(self._access):
                await self._pool.release(connection)

    async def close(self) -> None:
        try:
            await self._pool.close()
        except Exception:  # noqa: BLE001 - a connection that cannot be closed cleanly
            self._pool.terminate()


async def _no_reset(connection: object) -> None:
    """Do nothing: a reset would cost each append a round trip."""


class _Connection(Connection):
    def __init__(self, connection: PoolConnectionProxy, access: Access) -> None:
        self._connection = connection
        self._access = access

    async def run(self, query: Query) -> Reply:
        statement = numbered(query.sql, "$")
        try:
            with translated(self._access):
                values = statement.values(query.values)
                try:
                    rows = await self._connection.fetch(statement.text, *values, timeout=query.seconds)
                except asyncpg.ReadOnlySQLTransactionError:  # a primary that became a standby: connect to the new one
                    self._connection.terminate()
                    raise
        except asyncio.CancelledError:  # the server may never answer, not even to a ROLLBACK
            self._connection.terminate()
            raise
        return Reply(rows, len(rows))

    @asynccontextmanager
    async def transaction(self, shortest_lease: float = math.inf) -> AsyncIterator[None]:
        patience = self._access.patience
        limits = postgres_limits(patience) if self._access.proxy else {}
        limits |= postgres_own_limits(shortest_lease, patience)
        await self._execute(f"BEGIN; {set_local(limits)}" if limits else "BEGIN")  # one round trip
        try:
            yield
        except BaseException:
            if self._is_open():
                await self._execute("ROLLBACK")
            raise
        await self._execute("COMMIT")

    async def _execute(self, command: str) -> None:
        try:
            with translated(self._access):
                await self._connection.execute(command)
        except asyncio.CancelledError:  # see `run`
            self._connection.terminate()
            raise

    def _is_open(self) -> bool:
        try:
            return not self._connection.is_closed()
        except asyncpg.InterfaceError:  # the pool has dropped it already
            return False


@contextmanager
def _accepted(access: Access) -> Iterator[None]:
    """Say of a parameter that the server does not take where it comes from."""
    try:
        yield
    except (asyncpg.UndefinedObjectError, asyncpg.CantChangeRuntimeParamError, asyncpg.InvalidParameterValueError) as e:
        raise ConfigurationError(
            f"the server of the {access.kind} {access.shown} refuses a parameter of the URL ({e}): leave it out, or "
            f"correct it"
        ) from e


@contextmanager
def translated(access: Access) -> Iterator[None]:
    """Translate asyncpg's errors into newel's."""
    try:
        yield
    except _CONFIGURATION_ERRORS as error:
        raise ConfigurationError(
            f"the {access.kind} {access.shown} cannot be used ({error}): see the URL, and what its user may do"
        ) from error
    except _PASSING as error:
        raise Trouble(f"{type(error).__name__}: {error}") from error
    except _OF_A_PROXY as error:
        raise ConfigurationError(
            f"the {access.kind} {access.shown} is behind a pooler that gives each transaction another connection, such "
            f"as pgbouncer, and keeps no prepared statement ({type(error).__name__}): add proxy=true to the URL"
        ) from error
    except (asyncpg.PostgresError, UnicodeEncodeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise Rejected(f"the {access.kind} {access.shown} refused the operation: {reason}") from error
