"""The plugin of memory in PostgreSQL: ``postgresql://user@host/database``, with ``?schema=name`` to choose one."""

from __future__ import annotations

from newel.memory.kinds import MemoryBackend
from newel_kernel import hookimpl
from newel_postgres import memory


@hookimpl
def register_memory_backends() -> list[MemoryBackend]:
    """The schemes ``postgresql`` and ``postgres``; the driver is imported when a memory is opened."""

    def opened(uri: str) -> memory.PostgresMemoryService:
        return memory.PostgresMemoryService(uri)

    return [MemoryBackend(name=name, open=opened) for name in ("postgresql", "postgres")]
