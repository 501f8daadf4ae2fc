"""The plugin of Redis: the cache, ``redis://host:6379/0?store=URI`` with the URI of the store that it is in front of,
the server's bus, ``redis://host:6379``, and the keeper of limits, ``redis://host:6379/0``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import newel_redis
from newel.limits.kinds import LimitBackend
from newel.server.kinds import BusBackend
from newel.sessions.kinds import SessionBackend
from newel_compose import Composition
from newel_kernel import hookimpl
from newel_types import deferred

if TYPE_CHECKING:
    from newel.sessions.stored.service import StoredSessionService
    from newel_kernel import BaseSessionService
    from newel_redis.bus import Bus
    from newel_redis.limits import RedisGates

_opened_to_read = deferred("newel.server.stored", "opened_to_read")


def _open(uri: str) -> StoredSessionService:
    return newel_redis.opened(uri)


def _open_in(uri: str, composition: Composition) -> StoredSessionService:
    return newel_redis.opened(uri, lambda place: composition.open_service(SessionBackend, place))


def _read_in(uri: str, composition: Composition) -> BaseSessionService:
    """The store behind the cache: who only reads fills no cache."""
    _, place = newel_redis.parted(uri)
    store: BaseSessionService = _opened_to_read()(place, composition)
    return store


@hookimpl
def register_session_backends() -> list[SessionBackend]:
    """The schemes ``redis`` and ``rediss``; the client and the store's driver are imported when a store is opened."""
    return [SessionBackend(name=name, open=_open, open_in=_open_in, read_in=_read_in) for name in ("redis", "rediss")]


def _open_bus(uri: str) -> Bus:
    return newel_redis.Bus.opened(uri)


def _open_limits(uri: str) -> RedisGates:
    return newel_redis.RedisGates.opened(uri)


@hookimpl
def register_limit_backends() -> list[LimitBackend]:
    """The same schemes for limits over all processes."""
    return [LimitBackend(name=name, open=_open_limits) for name in ("redis", "rediss")]


@hookimpl
def register_bus_backends() -> list[BusBackend]:
    """The same schemes for the bus between the server's processes."""
    return [BusBackend(name=name, open=_open_bus) for name in ("redis", "rediss")]
