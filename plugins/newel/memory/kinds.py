"""The kind `MemoryBackend`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from newel_compose import Backend, Factory
from newel_kernel import Settings, hookspec

if TYPE_CHECKING:
    from newel.memory.base_memory_service import BaseMemoryService  # noqa: F401 - the class below names it


class MemoryBackend(Backend["BaseMemoryService"]):
    """Opens a memory service from a URI of the scheme `name`."""

    service: ClassVar[str] = "memory"
    packages: ClassVar[Mapping[str, str]] = dict.fromkeys(("postgresql", "postgres"), "newel-postgres")


class EmbedderFactory(Factory):
    """`create` gives an `Embedder`, which the URI of a memory can name."""


@hookspec
def register_embedders(settings: Settings) -> Sequence[EmbedderFactory]:
    """Embedders that the URI of a memory can name. Makes an embedder when such a memory is opened.

    >>> def make_embedder():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_embedders(self):
    ...         return [EmbedderFactory(name="small", create=make_embedder)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(EmbedderFactory, "small").name
    'small'
    """
    return ()


@hookspec
def register_memory_backends(settings: Settings) -> Sequence[MemoryBackend]:
    """Memory services. Opens a memory service from a URI of its scheme.

    >>> def open_memory(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_memory_backends(self):
    ...         return [MemoryBackend(name="elephant", open=open_memory)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(MemoryBackend, "elephant").name
    'elephant'
    """
    return ()
