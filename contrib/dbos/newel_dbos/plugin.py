"""The plugin of the engine: ``dbos://user@host/database``, with ``?schema=name`` to choose one."""

from __future__ import annotations

import newel_dbos
from newel.engines.kinds import EngineBackend
from newel_kernel import hookimpl


@hookimpl
def register_engine_backends() -> list[EngineBackend]:
    """The scheme ``dbos``; DBOS is imported when an engine is opened."""

    def opened(uri: str) -> newel_dbos.DbosEngine:
        return newel_dbos.DbosEngine(uri)

    return [EngineBackend(name="dbos", open=opened)]
