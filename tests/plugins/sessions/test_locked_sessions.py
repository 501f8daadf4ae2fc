"""More locked sessions than connections: the writes of others need not wait for them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.sessions.conftest import maker

from newel.sessions.stored.steps import Query
from newel_kernel import Event

WHERE: dict[str, Any] = {"app_name": "till", "user_id": "u"}
#: More than there are connections. Each lock is held for as long as its attempts hold a connection, several times.
LOCKED, SECONDS = 12, 5.0
FREE = ["free1", "free2", "new"]


def said(**state: Any) -> Event:
    return Event(author="user", message="x", state=state)


@pytest.mark.parametrize(
    ("kind", "shares"),
    [("postgres", False), ("postgres", True), ("database-postgres", False), ("database-mariadb", False)],
)
def test_locked_sessions_keep_nobody_from_the_others(request: pytest.FixtureRequest, kind: str, shares: bool) -> None:
    make: Any = maker(kind, request, Path())
    waits: dict[str, float] = {}

    async def write(store: Any, name: str) -> None:
        begin = time.monotonic()
        session = await store.create_session(**WHERE, session_id=name) if name == "new" else views[name]
        await store.append_event(session, said(**({"user:a": 1} if shares else {"a": 1})))
        waits[name] = time.monotonic() - begin

    views: dict[str, Any] = {}

    async def main() -> None:
        async with make() as store:
            for name in (*(f"locked{n}" for n in range(LOCKED)), "free1", "free2"):
                views[name] = await store.create_session(**WHERE, session_id=name)
            pool = make()._database.make_pool()
            async with pool.connection() as peer, peer.transaction():
                for n in range(LOCKED):
                    number = views[f"locked{n}"].number
                    await peer.run(Query(f"SELECT number FROM newel_sessions WHERE number = {number} FOR UPDATE"))
                writes = [asyncio.create_task(write(store, f"locked{n}")) for n in range(LOCKED)]
                await asyncio.sleep(0.1)
                writes += [asyncio.create_task(write(store, name)) for name in FREE]
                end = time.monotonic() + SECONDS
                while time.monotonic() < end:
                    await peer.run(Query("SELECT 1"))  # it does not stand still
                    await asyncio.sleep(0.3)
            await asyncio.gather(*writes)  # those that were locked are written as well, once the rows are free
            await pool.close()

    asyncio.run(main())
    assert max(waits[name] for name in FREE) < SECONDS - 0.5, waits
