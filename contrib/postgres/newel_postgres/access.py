"""Access: how a PostgreSQL database is reached."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from newel.sessions.stored.time_limits import postgres_limits
from newel_kernel import ConfigurationError
from newel_postgres.parameters import parameters_of

#: URL parameters that are newel's and not libpq's.
_OWN_PARAMETERS = ("schema", "pool_size", "proxy")


@dataclass(frozen=True, slots=True)
class Access:
    """How the database is reached."""

    url: str
    schema: str
    pool_size: int
    proxy: bool
    patience: float
    #: What the database holds, for messages.
    kind: str = "session store"
    #: Seconds that connecting may take.
    connect_seconds: float = 15.0
    #: (level, option, value) for the sockets of the connections.
    socket_options: tuple[tuple[int, int, int], ...] = ()
    #: Whether tables are neither made, brought to a newer version, nor written.
    read_only: bool = False

    @property
    def shown(self) -> str:
        """The database's address without a password, for messages."""
        parts = urlsplit(self.url)
        host = f"{parts.hostname or 'PGHOST'}{f':{parts.port}' if parts.port else ''}"
        return repr(f"postgresql://{host}{parts.path}{f'?schema={self.schema}' if self.schema else ''}")


def access_of(url: str, schema: str, pool_size: int, proxy: bool, patience: float, kind: str) -> Access:
    """The access for a URL. Its `pool_size` wins; its other parameters fill in what the arguments leave out."""
    if pool_size < 1:
        raise ConfigurationError(f"pool_size is {pool_size}: at least one connection is needed")
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres", "postgresql+asyncpg"):
        raise ConfigurationError(f"a PostgreSQL {kind} is named by postgresql://user@host:port/database")
    params = parse_qsl(parts.query, keep_blank_values=True)
    own = {name: value for name, value in params if name in _OWN_PARAMETERS}
    asked = parameters_of([(name, value) for name, value in params if name not in _OWN_PARAMETERS], kind)
    try:
        pool_size = int(own.get("pool_size", pool_size))
    except ValueError as error:
        raise ConfigurationError(f"pool_size in the URL of a {kind} is not a number: {error}") from error
    url = urlunsplit(parts._replace(scheme="postgresql", query=urlencode(asked.passed)))
    proxy = proxy or own.get("proxy", "") in ("1", "true") or asked.proxy
    seconds = min(patience, asked.connect_seconds or patience)
    schema = schema or own.get("schema", "")
    return Access(url, schema, pool_size, proxy, patience, kind, seconds, asked.socket_options)


def server_settings(access: Access) -> dict[str, str]:
    """The settings of each connection that the server is told at its beginning."""
    limits = postgres_limits(access.patience)
    return {**limits, "default_transaction_read_only": "on"} if access.read_only else limits


def configure(connection: Any, access: Access) -> None:
    """Set the options of a new connection's socket; one in the file system has none of them."""
    transport = getattr(connection, "_transport", None)
    used = transport.get_extra_info("socket") if transport is not None else None
    if used is not None and used.family in (socket.AF_INET, socket.AF_INET6):
        for level, option, value in access.socket_options:
            used.setsockopt(level, option, value)
