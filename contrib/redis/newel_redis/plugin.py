"""The plugin of the cache: ``redis://host:6379/0?store=URI``, with the URI of the store that it is in front of."""

from __future__ import annotations

import newel_redis
from newel.sessions.kinds import SessionBackend
from newel_kernel import hookimpl


@hookimpl
def register_session_backends() -> list[SessionBackend]:
    """The schemes ``redis`` and ``rediss``; the client and the store's driver are imported when a store is opened."""

    return [SessionBackend(name=name, open=lambda uri: newel_redis.opened(uri)) for name in ("redis", "rediss")]
