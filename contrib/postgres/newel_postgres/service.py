"""PostgresSessionService: sessions in a PostgreSQL database."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from newel.sessions.stored.dialects import POSTGRES
from newel.sessions.stored.leases import Leases
from newel.sessions.stored.schema import quoted
from newel.sessions.stored.service import StoredSessionService
from newel.sessions.stored.statements import Statements
from newel_kernel import ConfigurationError
from newel_postgres.database import Access, PostgresDatabase


class PostgresSessionService(StoredSessionService):
    """Sessions in the database `url` (``postgresql://user:password@host:port/database?sslmode=…``).

    What the URL leaves out comes from the environment, as libpq has it: PGHOST, PGUSER, PGPASSWORD, PGSSLMODE, a
    password file. The tables are in `schema` (by default the connection's own, ``public``). At most `pool_size`
    connections are open. With `proxy`, no statement outlives its transaction, as a pooler wants it that gives out
    connections by the transaction: each append then takes four round trips and not one. `patience` bounds the wait
    for a database that does not answer, in seconds; then StoreUnavailableError.
    """

    def __init__(
        self, url: str, *, schema: str = "", pool_size: int = 8, proxy: bool = False, patience: float = 15.0,
        live_sessions: int = 256,
    ) -> None:  # fmt: skip
        if pool_size < 1:
            raise ConfigurationError(f"pool_size is {pool_size}: at least one connection is needed")
        url, settings = _without(url, ("schema", "pool_size", "proxy"))
        schema = schema or settings.get("schema", "")
        try:
            pool_size = int(settings.get("pool_size", pool_size))
        except ValueError as error:
            raise ConfigurationError(f"pool_size in the URL of a session store is no number: {error}") from error
        access = Access(url, schema, pool_size, proxy or settings.get("proxy", "") in ("1", "true"), patience)
        leases = Leases()
        database = PostgresDatabase(access, Statements(POSTGRES, quoted(schema)), leases)
        super().__init__(database, leases, live_sessions=live_sessions)


def _without(url: str, names: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The URL without our own parameters, and those."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres", "postgresql+asyncpg"):
        raise ConfigurationError("a PostgreSQL session store is named by postgresql://user@host:port/database")
    given = parse_qsl(parts.query, keep_blank_values=True)
    rest = urlencode([(name, value) for name, value in given if name not in names])
    return urlunsplit(parts._replace(scheme="postgresql", query=rest)), {n: v for n, v in given if n in names}
