"""The kind `SessionBackend`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from newel_compose import Backend
from newel_kernel import Settings, hookspec

if TYPE_CHECKING:
    from newel_compose import Composition
    from newel_kernel import BaseSessionService


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBackend(Backend["BaseSessionService"]):
    """Opens a session store from a URI of the scheme `name`."""

    service: ClassVar[str] = "session"
    methods: ClassVar[tuple[str, ...]] = ("create_session", "get_session", "append_event", "close")
    packages: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("postgresql", "postgres"), "newel-postgres"),
        **dict.fromkeys(("redis", "rediss"), "newel-redis"),
    }
    #: Opens one that exists, only to read it: nothing is created, brought to a newer version, or written. None: it
    #: cannot be opened like that.
    read: Callable[[str], BaseSessionService] | None = None
    #: The same, for a store in front of another one, which the composition opens; in place of `read`.
    read_in: Callable[[str, Composition], BaseSessionService] | None = None


@hookspec
def register_session_backends(settings: Settings) -> Sequence[SessionBackend]:
    """Session stores. Opens a session store from a URI of its scheme.

    >>> def open_store(uri):
    ...     return InMemorySessionService()
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_session_backends(self):
    ...         return [SessionBackend(name="volatile", open=open_store)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(SessionBackend, "volatile").name
    'volatile'
    """
    return ()
