"""The plugin of memory in an SQLite file: ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``sqlite:path``.

``?embedder=NAME`` at the end names an embedder of a plugin.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from newel.memory import sqlite
from newel.memory.kinds import EmbedderFactory, MemoryBackend
from newel_compose import Composition
from newel_kernel import ConfigurationError, hookimpl


def _open(uri: str) -> sqlite.SqliteMemoryService:
    return sqlite.SqliteMemoryService(uri)


def _open_in(uri: str, composition: Composition) -> sqlite.SqliteMemoryService:
    place, _, query = uri.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    embedder = options.pop("embedder", None)
    if embedder is None:
        return _open(uri)
    if options:
        raise ConfigurationError(
            f"the URI of a memory in SQLite takes only embedder=NAME: leave {', '.join(options)} out of {uri!r}"
        )
    return sqlite.SqliteMemoryService(place, embedder=composition.registry.find(EmbedderFactory, embedder).create())


@hookimpl
def register_memory_backends() -> list[MemoryBackend]:
    """The scheme ``sqlite``; the store and sqlite3 are imported when one is opened."""
    return [MemoryBackend(name="sqlite", open=_open, open_in=_open_in)]
