"""Memory in an SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.memory.sqlite.service import SqliteMemoryService as SqliteMemoryService

__getattr__, __dir__ = lazy_exports(__name__, {"SqliteMemoryService": "newel.memory.sqlite.service"})
