"""The plugin of memory in an SQLite file: ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``sqlite:path``."""

from __future__ import annotations

from newel.memory import sqlite
from newel.memory.kinds import MemoryBackend
from newel_kernel import hookimpl


@hookimpl
def register_memory_backends() -> list[MemoryBackend]:
    """The scheme ``sqlite``; the store and sqlite3 are imported when one is opened."""
    return [MemoryBackend(name="sqlite", open=lambda uri: sqlite.SqliteMemoryService(uri))]
