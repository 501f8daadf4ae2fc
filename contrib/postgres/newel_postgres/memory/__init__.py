"""Memory in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_postgres.memory.service import PostgresMemoryService as PostgresMemoryService

__getattr__, __dir__ = lazy_exports(__name__, {"PostgresMemoryService": "newel_postgres.memory.service"})
