"""SqliteSessionService, by its released name."""

from newel.sessions.sqlite.service import SqliteSessionService

__all__ = ["SqliteSessionService"]
