"""engines: where and when an invocation runs."""

from __future__ import annotations

from newel.engines import kinds
from newel.engines.kinds import EngineBackend
from newel_kernel import Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """Engines."""
    return [Kind(EngineBackend, kinds.register_engine_backends)]
