"""The plugin of sessions through SQLAlchemy, by its URLs of MariaDB, MySQL, PostgreSQL and SQLite with a driver."""

from __future__ import annotations

from newel.sessions import database
from newel.sessions.kinds import SessionBackend
from newel_kernel import hookimpl

#: SQLAlchemy's URL schemes, some with a driver, that no other plugin has.
SCHEMES = (
    "mariadb",
    "mariadb+aiomysql",
    "mariadb+asyncmy",
    "mysql",
    "mysql+aiomysql",
    "mysql+asyncmy",
    "postgresql+asyncpg",
    "postgresql+psycopg",
    "sqlite+aiosqlite",
)


@hookimpl
def register_session_backends() -> list[SessionBackend]:
    """The schemes; SQLAlchemy is imported when a store is opened."""

    def opened(uri: str) -> database.DatabaseSessionService:
        return database.DatabaseSessionService(uri)

    def read(uri: str) -> database.DatabaseSessionService:
        return database.DatabaseSessionService(uri, read_only=True)

    return [SessionBackend(name=name, open=opened, read=read) for name in SCHEMES]
