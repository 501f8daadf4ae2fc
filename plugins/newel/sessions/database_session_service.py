"""DatabaseSessionService, by its released name."""

from newel.sessions.database.service import DatabaseSessionService

__all__ = ["DatabaseSessionService"]
