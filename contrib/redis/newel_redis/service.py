"""cached: a store of sessions with a cache in front of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from newel.sessions.kinds import SessionBackend
from newel.sessions.stored.database import Database
from newel.sessions.stored.service import StoredSessionService
from newel_compose import compose_once, without_password
from newel_kernel import ConfigurationError
from newel_redis.cache import Cache
from newel_redis.database import CachedDatabase

S = TypeVar("S", bound=StoredSessionService)
_LOCAL = "redis://127.0.0.1:6379/0"
_STORE = "store="


def cached(store: S, url: str = _LOCAL, *, prefix: str = "newel", ttl: float = 86400.0, patience: float = 1.0) -> S:
    """The same store, which takes the first events of long sessions from the Redis at `url`, if Redis has them.

    Keys begin with `prefix`, and last `ttl` seconds. A Redis that does not answer within `patience` seconds is left
    alone for five. `store` must not have been used yet.
    """
    if not isinstance(store, StoredSessionService):
        raise ConfigurationError(
            f"{type(store).__name__} keeps no sessions in a database: a cache is for stores in SQLite, PostgreSQL, "
            f"MariaDB or MySQL"
        )
    cache = Cache(url, ttl=ttl, patience=patience)

    def through(database: Database) -> Database:
        return CachedDatabase(database, cache, prefix)

    store.reach(through)
    return store


def opened(uri: str, open_store: Callable[[str], object] | None = None) -> StoredSessionService:
    """The store of ``redis://host:6379/0?store=URI``; the store's URI comes last, unescaped.

    `open_store` opens the inner store; by default the folder's distribution opens it by its scheme.
    """
    address, place = parted(uri)
    parts = urlsplit(address.rstrip("?&"))
    params = dict(parse_qsl(parts.query, keep_blank_values=True))
    try:
        ttl, patience = float(params.pop("ttl", 86400.0)), float(params.pop("patience", 1.0))
    except ValueError as error:
        raise ConfigurationError(f"ttl and patience in the URL of the cache must be numbers: {error}") from error
    name = blake2b(without_password(place).encode(), digest_size=6).hexdigest()
    prefix = params.pop("prefix", f"newel:{name}")
    url = urlunsplit(parts._replace(query=urlencode(params)))
    open_store = open_store or partial(compose_once().open_service, SessionBackend)
    store: Any = open_store(place)
    service: StoredSessionService = cached(store, url, prefix=prefix, ttl=ttl, patience=patience)
    return service


def parted(uri: str) -> tuple[str, str]:
    """The address of the cache, and the URI of the store behind it."""
    address, mark, place = uri.partition(_STORE)
    if not mark or not place or address[-1] not in "?&":
        raise ConfigurationError(
            f"{without_password(uri)!r} names no store: a cache is in front of one, so write "
            f"redis://host:6379/0?store=postgresql://user@host/database"
        )
    return address, place
