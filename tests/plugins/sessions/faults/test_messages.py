"""A connection that is cut at the N-th message to or from a server: sessions and imports stay consistent.

For N = 1, 2, 3 … until there is no such message, with NEWEL_EXAMPLES set; without it for some N.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, Mock
from urllib.parse import urlsplit

import pytest
from tests.plugins.sessions.faults.cases import Case, Import, Ledger, Sessions, tried
from tests.plugins.sessions.faults.cutting_proxy import CuttingProxy, cutting_proxy, mysql, postgres

from newel.sessions import DatabaseSessionService
from newel.sessions.stored.pooled import PooledDatabase
from newel.sessions.stored.service import StoredSessionService
from newel_postgres import PostgresSessionService

ALL = "NEWEL_EXAMPLES" in os.environ
STRIDE = 1 if ALL else 97
SERVERS: dict[str, tuple[str, Any, str]] = {
    "postgres": ("postgres", PostgresSessionService, "?sslmode=disable"),
    "database-postgres": ("postgres", DatabaseSessionService, "?ssl=disable"),
    "database-mariadb": ("mariadb", DatabaseSessionService, ""),
}
#: A server, what happens to a message, and what is done meanwhile; the first ones also without NEWEL_EXAMPLES.
WAYS = [
    (server, kind, work) for work in ("sessions", "import") for kind in ("lost", "half", "away") for server in SERVERS
]
SOME = [way for way in WAYS if way[0] == "postgres" or way[1:] == ("lost", "sessions")]


class Server:
    """A database on a server, directly and through a proxy."""

    def __init__(self, kind: str, request: pytest.FixtureRequest) -> None:
        fixture, self._made, self._options = SERVERS[kind]
        self._url: str = request.getfixturevalue(fixture)()
        self.framing = postgres if fixture == "postgres" else mysql
        self.port = {"postgres": 5432, "mariadb": 3306}[fixture]

    def directly(self) -> StoredSessionService:
        return self._made(self._url)  # type: ignore[no-any-return]

    def through(self, proxy: CuttingProxy, patience: float) -> StoredSessionService:
        parts = urlsplit(self._url)
        place = parts._replace(netloc=f"{parts.username}@127.0.0.1:{proxy.own_port}").geturl()
        return self._made(place + self._options, patience=patience)  # type: ignore[no-any-return]


async def worked(case: Case, proxy: CuttingProxy, kind: str, at: int, ledger: Ledger) -> bool:
    """Take all steps with the fault, then those that were refused; whether there was a fault."""
    proxy.arm(at, kind)
    every = {name for group in case.steps() for name in group}
    case.goes_on = kind != "away"
    await case.open()
    await tried(case, every, ledger.hear)
    if kind != "away":
        assert not every - set(ledger.done), f"a message that is {kind} is not made up for: {ledger.reasons}"
        await case.close()
        return proxy.disarm()
    fired = proxy.disarm()
    for _ in range(20):  # with little patience, which a busy machine may try
        if left := every - set(ledger.done):
            await tried(case, left, ledger.hear)
    await case.close()
    assert not every - set(ledger.done), f"once the server is back, still refused: {ledger.reasons}"
    return fired


@pytest.mark.parametrize(("server", "kind", "work"), WAYS if ALL else SOME)
def test_a_cut_at_any_message_leaves_it_consistent(
    server: str, kind: str, work: str, request: pytest.FixtureRequest
) -> None:
    there = Server(server, request)

    async def at(number: int, proxy: CuttingProxy) -> bool:
        patience = 1.0 if kind == "away" else 15.0
        ledger = Ledger(dead=kind == "away")

        def cases(make: Callable[[], StoredSessionService]) -> Case:
            if work == "import":
                return Import(make)
            sessions = Sessions(make, f"app-{number}")
            sessions.may_be_behind = kind == "away"
            return sessions

        fired = await worked(cases(lambda: there.through(proxy, patience)), proxy, kind, number, ledger)
        await cases(there.directly).check(ledger)
        return fired

    async def main() -> None:
        store = there.directly()
        await store.list_sessions(app_name="app")  # the tables
        await store.close()
        async with cutting_proxy(there.port, there.framing) as proxy:
            for number in count(1 + 5 * WAYS.index((server, kind, work)) % STRIDE, STRIDE):
                if not await at(number, proxy):
                    assert number > 50
                    return
                if work == "import":
                    await emptied(there)

    asyncio.run(main())


async def emptied(there: Server) -> None:
    """Delete what was imported."""
    store = there.directly()
    for one in (await store.list_sessions(app_name="shop")).sessions:
        await store.delete_session(app_name="shop", user_id=one.user_id, session_id=one.id)
    await store.close()


def test_closing_waits_for_a_write_that_has_just_ended_and_lets_the_loop_go_on() -> None:
    """From Python 3.12 on, `gather` gives what has ended already without a turn of the loop."""

    async def main() -> None:
        write: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tasks, closed = {write}, AsyncMock()
        write.add_done_callback(tasks.discard)
        mine = SimpleNamespace(committer=SimpleNamespace(tasks=tasks), pool=closed)

        def peek() -> object:
            write.set_result(None)
            return mine

        database: Any = SimpleNamespace(_keeper=Mock(), _loops=SimpleNamespace(peek=peek, close=closed.loops))
        await PooledDatabase.close(database)
        closed.close.assert_awaited_once()

    asyncio.run(main())
