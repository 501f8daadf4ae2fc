"""Sessions and memory in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_postgres.memory.service import PostgresMemoryService as PostgresMemoryService
    from newel_postgres.service import PostgresSessionService as PostgresSessionService

_WHERE = {
    "PostgresMemoryService": "newel_postgres.memory.service",
    "PostgresSessionService": "newel_postgres.service",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
