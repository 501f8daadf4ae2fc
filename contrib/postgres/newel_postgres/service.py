"""PostgresSessionService: sessions in a PostgreSQL database."""

from __future__ import annotations

from dataclasses import replace

from newel.sessions.stored.dialects import POSTGRES
from newel.sessions.stored.leases import Leases
from newel.sessions.stored.schema import quoted
from newel.sessions.stored.service import StoredSessionService
from newel.sessions.stored.statements import Statements
from newel_postgres.access import access_of
from newel_postgres.database import PostgresDatabase


class PostgresSessionService(StoredSessionService):
    """Sessions in the database `url` (``postgresql://user:password@host:port/database?sslmode=…``).

    Parts that the URL leaves out come from the environment, as in libpq: PGHOST, PGUSER, PGPASSWORD, PGSSLMODE, a
    password file. The tables are in `schema` (by default the connection's own, ``public``). At most `pool_size`
    connections are open. `proxy` is for a pooler that hands out connections per transaction: no statement outlives
    its transaction, and each append takes four round trips instead of one. `patience` bounds the wait for a database
    that does not answer, in seconds; after it, StoreUnavailableError is raised. With `read_only` the tables must exist,
    and nothing is migrated or written.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "",
        pool_size: int = 8,
        proxy: bool = False,
        patience: float = 15.0,
        live_sessions: int | None = None,
        read_only: bool = False,
    ) -> None:
        access = access_of(url, schema, pool_size, proxy, patience, "session store")
        access = replace(access, read_only=read_only)
        leases = Leases()
        database = PostgresDatabase(access, Statements(POSTGRES, quoted(access.schema)), leases)
        super().__init__(database, leases, live_sessions=live_sessions)
