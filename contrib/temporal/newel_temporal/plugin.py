"""The plugin of Temporal: the engine ``temporal://host:7233?namespace=default``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import newel_temporal
from newel.engines.kinds import EngineBackend
from newel_kernel import hookimpl

if TYPE_CHECKING:
    from newel_temporal.engine import TemporalEngine


def _open(uri: str) -> TemporalEngine:
    return newel_temporal.TemporalEngine(newel_temporal.Address.of(uri))


@hookimpl
def register_engine_backends() -> list[EngineBackend]:
    """The scheme ``temporal``; the client is imported when an engine is opened."""
    return [EngineBackend(name="temporal", open=_open)]
