"""The session stores under test: each test that takes `open_store` runs once per store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from newel.sessions import DatabaseSessionService, InMemorySessionService, SqliteSessionService
from newel_kernel import BaseSessionService
from newel_postgres import PostgresSessionService

OpenStore = Callable[[], AbstractAsyncContextManager[BaseSessionService]]
Make = Callable[[], BaseSessionService]

#: The stores that several services, also of several processes, may share.
SHARED = ("sqlite", "postgres", "database-sqlite", "database-postgres", "database-mariadb")


@pytest.fixture(params=SHARED)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes services over one place, which is empty at first."""
    return maker(request.param, request, tmp_path)


def maker(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes services of a kind over one place."""
    if kind == "sqlite":
        return lambda: SqliteSessionService(tmp_path / "s.db")
    if kind == "database-sqlite":
        return lambda: DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path}/s.db")
    server = request.getfixturevalue("mariadb" if kind == "database-mariadb" else "postgres")
    url: str = server()
    return lambda: PostgresSessionService(url) if kind == "postgres" else DatabaseSessionService(url)


@pytest.fixture(params=["memory", "sqlite-in-memory", *SHARED])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    """Opens a store of its own; it is closed at the end of the ``async with``."""
    make: Make
    if request.param == "memory":
        make = InMemorySessionService
    elif request.param == "sqlite-in-memory":
        make = lambda: SqliteSessionService(":memory:")  # noqa: E731 - one of several
    else:
        make = maker(request.param, request, tmp_path)

    @asynccontextmanager
    async def opened() -> AsyncIterator[BaseSessionService]:
        store = make()
        try:
            yield store
        finally:
            await store.close()

    return opened
