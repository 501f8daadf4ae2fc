"""The session stores under test: each test that takes `open_store` runs once per store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from newel.sessions import InMemorySessionService, SqliteSessionService
from newel_kernel import BaseSessionService

OpenStore = Callable[[], AbstractAsyncContextManager[BaseSessionService]]


@pytest.fixture(params=["memory", "sqlite", "sqlite-in-memory"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    """Opens a store of its own; it is closed at the end of the ``async with``."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[BaseSessionService]:
        paths = {"sqlite": str(tmp_path / "sessions.db"), "sqlite-in-memory": ":memory:"}
        kind = request.param
        store = SqliteSessionService(paths[kind]) if kind in paths else InMemorySessionService()
        try:
            yield store
        finally:
            await store.close()

    return opened
