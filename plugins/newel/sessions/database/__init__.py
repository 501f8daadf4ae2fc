"""Sessions in a database, through SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.sessions.database.service import DatabaseSessionService as DatabaseSessionService

__getattr__, __dir__ = lazy_exports(__name__, {"DatabaseSessionService": "newel.sessions.database.service"})
