"""The store that a URI names, for programs that fork."""

from __future__ import annotations

from typing import Any

from newel.sessions import DatabaseSessionService, SqliteSessionService
from newel_postgres import PostgresSessionService


def open_store(uri: str, patience: float = 15.0) -> Any:
    """A service over the store, which waits so many seconds for it."""
    scheme, _, rest = uri.partition(":")
    if scheme == "sqlite":
        return SqliteSessionService(rest, patience=patience)
    return (PostgresSessionService if scheme == "postgresql" else DatabaseSessionService)(uri, patience=patience)
