"""The kind `LimitBackend`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from newel_compose import Backend
from newel_kernel import Settings, hookspec

if TYPE_CHECKING:
    from newel.limits.gates import Gates  # noqa: F401 - the class below names it


class LimitBackend(Backend["Gates"]):
    """Opens what keeps limits from a URI of the scheme `name`; a distribution sets the URI under `services`."""

    service: ClassVar[str] = "limits"
    noun: ClassVar[str] = "keeper of limits"
    methods: ClassVar[tuple[str, ...]] = ("enter", "renew", "leave", "pace")
    packages: ClassVar[Mapping[str, str]] = {"redis": "newel-redis", "rediss": "newel-redis"}


@hookspec
def register_limit_backends(settings: Settings) -> Sequence[LimitBackend]:
    """What keeps limits, if it is not the store of the sessions. Opens the gates from a URI of its scheme.

    >>> from newel.limits.kinds import LimitBackend
    >>> from newel.limits.memory import MemoryGates
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_limit_backends(self):
    ...         return [LimitBackend(name="turnstile", open=lambda uri: MemoryGates())]
    >>> composed = compose("standard", plugins=[Plugin()])
    >>> composed.registry.find(LimitBackend, "turnstile").name
    'turnstile'
    """
    return ()
