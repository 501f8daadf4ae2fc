"""The plugin of memory in PostgreSQL: ``postgresql://user@host/database``, with ``?schema=name`` to choose one.

``embedder=NAME`` names an embedder that a plugin registers.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from newel.memory.kinds import EmbedderFactory, MemoryBackend
from newel_compose import Composition
from newel_kernel import hookimpl
from newel_postgres import memory


def _open(uri: str) -> memory.PostgresMemoryService:
    return memory.PostgresMemoryService(uri)


def _open_in(uri: str, composition: Composition) -> memory.PostgresMemoryService:
    parts = urlsplit(uri)
    options = parse_qsl(parts.query, keep_blank_values=True)
    embedder = dict(options).get("embedder")
    if embedder is None:
        return _open(uri)
    rest = urlencode([(name, value) for name, value in options if name != "embedder"])
    instance = composition.registry.find(EmbedderFactory, embedder).create()
    return memory.PostgresMemoryService(urlunsplit(parts._replace(query=rest)), embedder=instance)


@hookimpl
def register_memory_backends() -> list[MemoryBackend]:
    """The schemes ``postgresql`` and ``postgres``; the driver is imported when a memory is opened."""
    return [MemoryBackend(name=name, open=_open, open_in=_open_in) for name in ("postgresql", "postgres")]
