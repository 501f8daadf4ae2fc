"""Sessions in an SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.sessions.sqlite.service import SqliteSessionService as SqliteSessionService

__getattr__, __dir__ = lazy_exports(__name__, {"SqliteSessionService": "newel.sessions.sqlite.service"})
