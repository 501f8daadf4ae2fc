"""Watching: whoever follows a session learns that it has changed, and looks by itself where nothing tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

import psycopg
import pytest

from newel.sessions import DatabaseSessionService, InMemorySessionService, SqliteSessionService, watching
from newel.sessions.contract import WatchedSessions
from newel.sessions.watching import Watch, watched
from newel_kernel import BaseSessionService, Event
from newel_postgres import PostgresSessionService, listener
from newel_redis import cached
from newel_types import Content, Part

WHERE = {"app_name": "app", "user_id": "ann", "session_id": "s"}

P = ParamSpec("P")


def in_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test in an event loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def event(text: str = "hello") -> Event:
    return Event(author="user", invocation_id="i", content=Content(role="user", parts=[Part(text=text)]))


async def append(store: BaseSessionService) -> None:
    session = await store.open(**WHERE)  # type: ignore[attr-defined]
    await store.append_event(session, event())


async def settled(watch: Watch) -> None:
    """Wait until all changes are told."""
    async with asyncio.timeout(20):
        while not watch._is_told():
            await asyncio.sleep(0.01)
    watch._changed.clear()


async def woken(watch: Watch, change: Callable[[], Awaitable[object]]) -> bool:
    """Whether a change ends the wait of a follower; else it waits much longer."""
    await settled(watch)
    waiting = asyncio.create_task(watch.wait())
    await asyncio.sleep(0)
    await change()
    done, _ = await asyncio.wait([waiting], timeout=10)
    waiting.cancel()
    return bool(done)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks for itself soon."""
    monkeypatch.setattr(watching, "_FIRST", 30.0)


@pytest.fixture
def url(postgres: Callable[[], str]) -> str:
    return postgres()


@in_a_loop
async def test_a_change_in_this_process_wakes() -> None:
    store = InMemorySessionService()
    await store.create_session(**WHERE)
    async with watched(store, **WHERE) as watch, watched(store, **{**WHERE, "session_id": "t"}) as other:
        assert await woken(watch, lambda: append(store))
        assert await woken(watch, lambda: store.wake(**WHERE))
        assert not other._changed.is_set()


@in_a_loop
async def test_a_file_wakes_those_of_its_service(tmp_path: object) -> None:
    async with SqliteSessionService(f"{tmp_path}/s.db") as store:
        await store.create_session(**WHERE)
        async with watched(store, **WHERE) as watch:
            await append(store)
            await asyncio.wait_for(watch.wait(), 10)


@in_a_loop
async def test_who_is_told_nothing_looks_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_FIRST", 0.001)
    told, untold = Watch(is_told=lambda: True), Watch()
    for one in (told, untold):
        for _ in range(20):
            await one.wait()
    assert told._pause > 5 * untold._pause
    told.soon()
    assert told._pause == 0.001


@pytest.mark.parametrize("kind", ["postgres", "database", "redis"])
@in_a_loop
async def test_a_change_in_another_process_wakes(url: str, kind: str) -> None:
    """The writer may be of any kind; a cache in front of the store changes nothing."""
    store = PostgresSessionService(url)
    follower: WatchedSessions = cached(store, "redis://127.0.0.1:1") if kind == "redis" else store
    async with store, DatabaseSessionService(url) if kind == "database" else PostgresSessionService(url) as writer:
        await writer.create_session(**WHERE)
        async with follower.watch(**WHERE) as watch:
            assert await woken(watch, lambda: append(writer))

            async def run_over() -> None:
                session = await writer.claim(**WHERE, owner="w", ttl=30)
                assert session is not None
                await writer.release(session)

            assert await woken(watch, run_over)
            assert await woken(watch, lambda: writer.wake(**WHERE))


@in_a_loop
async def test_nothing_is_told_where_nobody_follows(url: str) -> None:
    async with PostgresSessionService(url) as store, PostgresSessionService(url) as writer:
        await writer.create_session(**WHERE)
        other = await writer.create_session(**{**WHERE, "session_id": "t"})
        async with store.watch(**WHERE) as watch:
            await settled(watch)
            with psycopg.connect(url, autocommit=True) as listener:
                listener.execute("LISTEN newel_changes")
                await writer.append_event(other, event())
                await append(writer)
                told = await asyncio.to_thread(lambda: [*listener.notifies(timeout=10, stop_after=1)])
                assert told[0].payload.endswith(f":{other.number - 1}")  # nothing but the number of a session
                assert not [*listener.notifies(timeout=0.2)]


@in_a_loop
async def test_many_followers_have_one_connection_and_find_a_server_that_was_away(url: str) -> None:
    listening = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%advisory%shared%'"
    async with PostgresSessionService(url) as store, PostgresSessionService(url) as writer:
        await writer.create_session(**WHERE)
        async with store.watch(**WHERE) as watch, store.watch(**WHERE) as second:
            assert await woken(watch, lambda: append(writer))
            assert second._changed.is_set()
            with psycopg.connect(url, autocommit=True) as server:
                ((pid,),) = server.execute(f"{listening} AND pid <> pg_backend_pid()").fetchall()
                server.execute("SELECT pg_terminate_backend(%s)", [pid])
            await asyncio.wait_for(watch.wait(), 10)  # they look for themselves
            assert await woken(watch, lambda: append(writer))
            assert watch._is_told()


@in_a_loop
async def test_locks_are_let_go_of_while_new_followers_come_all_the_time(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "_CHECKED", 0.4)
    async with PostgresSessionService(url) as store:
        places = [{**WHERE, "session_id": f"s{number}"} for number in range(4)]
        for where in places:
            await store.create_session(**where)

        async with store.watch(**places[0]) as watch:
            await settled(watch)
        async with asyncio.timeout(20), store.watch(**places[1]) as stays:
            await settled(stays)
            while watch._is_told():  # the lock of the first is there until it is let go of
                for where in places[2:]:
                    async with store.watch(**where):
                        await asyncio.sleep(0.05)
            assert stays._is_told()
