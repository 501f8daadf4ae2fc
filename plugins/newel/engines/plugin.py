"""engines: where and when an invocation runs."""

from __future__ import annotations

from pydantic import BaseModel

from newel import engines
from newel.engines import kinds
from newel.engines.kinds import EngineBackend
from newel.engines.settings import Settings
from newel_kernel import Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """Engines."""
    return [Kind(EngineBackend, kinds.register_engine_backends)]


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_engine_backends() -> list[EngineBackend]:
    """The scheme ``inline``: runs in this process, which end with it."""
    return [EngineBackend(name="inline", open=lambda uri: engines.InlineEngine())]
