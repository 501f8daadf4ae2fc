"""The plugin of sessions in PostgreSQL: ``postgresql://user@host/database``, with ``?schema=name`` to choose one."""

from __future__ import annotations

import newel_postgres
from newel.sessions.kinds import SessionBackend
from newel_kernel import hookimpl


@hookimpl
def register_session_backends() -> list[SessionBackend]:
    """The schemes ``postgresql`` and ``postgres``; the driver is imported when a store is opened."""

    def opened(uri: str) -> newel_postgres.PostgresSessionService:
        return newel_postgres.PostgresSessionService(uri)

    def read(uri: str) -> newel_postgres.PostgresSessionService:
        return newel_postgres.PostgresSessionService(uri, read_only=True)

    return [SessionBackend(name=name, open=opened, read=read) for name in ("postgresql", "postgres")]
