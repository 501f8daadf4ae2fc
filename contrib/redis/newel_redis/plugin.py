"""The plugin of the cache: ``redis://host:6379/0?store=URI``, with the URI of the store that it is in front of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import newel_redis
from newel.sessions.kinds import SessionBackend
from newel_compose import Composition
from newel_kernel import hookimpl

if TYPE_CHECKING:
    from newel.sessions.stored.service import StoredSessionService


def _open(uri: str) -> StoredSessionService:
    return newel_redis.opened(uri)


def _open_in(uri: str, composition: Composition) -> StoredSessionService:
    return newel_redis.opened(uri, lambda place: composition.open_service(SessionBackend, place))


@hookimpl
def register_session_backends() -> list[SessionBackend]:
    """The schemes ``redis`` and ``rediss``; the client and the store's driver are imported when a store is opened."""
    return [SessionBackend(name=name, open=_open, open_in=_open_in) for name in ("redis", "rediss")]
