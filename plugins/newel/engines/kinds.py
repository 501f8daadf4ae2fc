"""The kind `EngineBackend`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from newel_compose import Backend
from newel_kernel import Settings, hookspec

if TYPE_CHECKING:
    from newel.engines.engine import BaseEngine  # noqa: F401 - the class below names it


class EngineBackend(Backend["BaseEngine"]):
    """Opens an engine from a URI of the scheme `name`; a distribution sets the URI of its own under `services`."""

    service: ClassVar[str] = "engine"
    noun: ClassVar[str] = "engine"
    methods: ClassVar[tuple[str, ...]] = ("submit", "signal", "cancel", "retry", "record", "records", "worker", "close")
    packages: ClassVar[Mapping[str, str]] = {"dbos": "newel-dbos", "temporal": "newel-temporal"}


@hookspec
def register_engine_backends(settings: Settings) -> Sequence[EngineBackend]:
    """Engines, which say where and when a run runs. Opens an engine from a URI of its scheme.

    >>> def open_engine(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_engine_backends(self):
    ...         return [EngineBackend(name="difference", open=open_engine)]
    >>> composed = compose("standard", plugins=[Plugin()])
    >>> composed.registry.find(EngineBackend, "difference").name
    'difference'
    """
    return ()
