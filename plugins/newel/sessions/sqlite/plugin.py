"""The plugin of sessions in an SQLite file: ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``sqlite:path``."""

from __future__ import annotations

from newel.sessions import sqlite
from newel.sessions.kinds import SessionBackend
from newel_kernel import hookimpl


@hookimpl
def register_session_backends() -> list[SessionBackend]:
    """The scheme ``sqlite``; the store and sqlite3 are imported when one is opened."""
    return [
        SessionBackend(
            name="sqlite",
            open=lambda uri: sqlite.SqliteSessionService(uri),
            read=lambda uri: sqlite.SqliteSessionService(uri, read_only=True),
        )
    ]
