"""The kind `SessionBackend`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from newel_compose import Backend
from newel_kernel import Settings, hookspec

if TYPE_CHECKING:
    from newel_kernel import BaseSessionService  # noqa: F401 - the class below names it


class SessionBackend(Backend["BaseSessionService"]):
    """Opens a session store from a URI of the scheme `name`."""

    service: ClassVar[str] = "session"


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
