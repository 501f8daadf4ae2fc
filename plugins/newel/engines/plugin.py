"""engines: where and when an invocation runs."""

from __future__ import annotations

from pydantic import BaseModel

from newel import engines
from newel.engines import kinds
from newel.engines.kinds import EngineBackend
from newel.engines.settings import Settings
from newel_kernel import ConfigurationError, Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """Engines."""
    return [Kind(EngineBackend, kinds.register_engine_backends)]


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


def _inline(uri: str) -> engines.InlineEngine:
    if uri.partition(":")[2].strip("/"):
        raise ConfigurationError("the engine of this process takes no parameters: write inline:")
    return engines.InlineEngine()


@hookimpl
def register_engine_backends() -> list[EngineBackend]:
    """The scheme ``inline``: runs in this process, which end with it."""
    return [EngineBackend(name="inline", open=_inline)]
