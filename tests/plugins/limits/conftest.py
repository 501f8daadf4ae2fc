"""What keeps limits: the session stores that keep budgets, and Redis."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from redis import Redis
from redis.exceptions import RedisError
from tests.plugins.budgets.conftest import Make as Make
from tests.plugins.budgets.conftest import make_sessions as make_sessions
from tests.plugins.sessions.conftest import maker

from newel.limits import Gates, gates_of
from newel.sessions import InMemorySessionService
from newel_redis import RedisGates

OpenGates = Callable[[], AbstractAsyncContextManager[Gates]]


@pytest.fixture
def redis_gates() -> Iterator[str]:
    """The URI of gates in Redis with a prefix of their own; skips where there is no Redis."""
    url, prefix = f"redis://{os.environ.get('REDIS_HOST', '127.0.0.1')}:6379/0", f"test-{uuid4().hex}"
    with Redis.from_url(url, socket_timeout=5) as client:
        try:
            client.ping()
        except RedisError as error:
            pytest.skip(f"there is no Redis here: {type(error).__name__}")
        yield f"{url}?prefix={prefix}"
        for key in client.scan_iter(f"{prefix}:*"):
            client.delete(key)


@pytest.fixture(params=["memory", "sqlite", "postgres", "database-mariadb", "redis"])
def open_gates(request: pytest.FixtureRequest, tmp_path: Path) -> OpenGates:
    """Opens the gates of a place that is empty at first, once per keeper of limits."""
    if request.param == "redis":
        gates = RedisGates.opened(request.getfixturevalue("redis_gates"))
        return lambda: closing(gates, gates)
    service: Any
    service = InMemorySessionService() if request.param == "memory" else maker(request.param, request, tmp_path)()
    return lambda: closing(gates_of(service), service)


@asynccontextmanager
async def closing(gates: Gates, service: Any) -> Any:
    """The gates, which are closed with what they are in."""
    try:
        yield gates
    finally:
        await service.close()
