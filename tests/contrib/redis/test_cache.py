"""A cache in Redis: it makes a long session open without its rows, and nothing wrong, whatever Redis does."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.sessions.stored.reads import Tail
from newel.sessions.stored.service import StoredSessionService
from newel.testing import session_conformance
from newel_kernel import ConfigurationError, Event, Session
from newel_postgres import PostgresSessionService
from newel_redis import cached, chunks, opened

WHERE = {"app_name": "a", "user_id": "u", "session_id": "s"}


class Counted:
    """Counts the events that are read from a database."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.events = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def read(self, question: Any) -> Any:
        found = await self._database.read(question)
        self.events += len(found) if isinstance(question, Tail) else 0
        return found


def counted(store: StoredSessionService) -> Counted:
    made: list[Counted] = []
    store.reach(lambda database: made.append(Counted(database)) or made[0])  # type: ignore[func-returns-value]
    return made[0]


async def append(store: Any, count: int, mark: str = "e") -> Session:
    session = await store.open(**WHERE) or await store.create_session(**WHERE)
    for _ in range(count):
        number = len(session.events)
        await store.append_event(session, Event(author="user", message=f"{mark} {number} é", state={"n": number}))
    session = await store.open(**WHERE)
    return session  # type: ignore[no-any-return]


async def read(store: StoredSessionService) -> Session:
    """The session as a service reads it that knows nothing yet."""
    try:
        session = await store.get_session(**WHERE)
        assert session is not None
        return session
    finally:
        await store.close()


def texts(session: Session) -> list[str]:
    return [part.text or "" for event in session.events if event.content for part in event.content.parts or ()]


def shown(session: Session) -> tuple[Any, ...]:
    return session.version, session.state, [event.model_dump_json() for event in session.events]


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], StoredSessionService]:
    """Makes services without a cache over one place."""
    if request.param == "sqlite":
        return lambda: SqliteSessionService(tmp_path / "s.db")
    url = request.getfixturevalue("postgres")()
    return lambda: PostgresSessionService(url)


def test_a_store_with_a_cache_conforms(
    make: Callable[[], StoredSessionService], server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "SIZE", 2)
    session_conformance(lambda: cached(make(), server.url), examples=10)
    assert server.held()


def test_only_the_last_events_come_from_the_database(make: Callable[[], StoredSessionService], server: Any) -> None:
    async def run() -> None:
        store = make()
        await append(store, 100)
        await store.close()
        plain = await read(make())
        counts = []
        for _ in range(2):
            store = make()
            count = counted(store)
            session = await read(cached(store, server.url))
            assert shown(session) == shown(plain)
            counts.append(count.events)
        assert counts == [100, 5]  # 96 in three chunks, the last of which is compared
        assert len(server.held()) == 3
        assert all(0 < server.client.ttl(key) <= 86400 for key in server.held())

    asyncio.run(run())


_OTHER = """
import asyncio, sys
from newel.sessions import SqliteSessionService
from newel_kernel import Event
from newel_redis import cached

async def main():
    store = cached(SqliteSessionService(sys.argv[1]), sys.argv[2])
    where = {"app_name": "a", "user_id": "u", "session_id": "s"}
    session = await store.open(**where)
    for number in range(40):
        await store.append_event(session, Event(author="user", message=f"other {number}", state={"n": -number}))
    await store.close()

asyncio.run(main())
"""


def test_what_another_process_appends_is_seen(tmp_path: Path, server: Any) -> None:
    path = str(tmp_path / "s.db")

    async def run() -> None:
        mine = cached(SqliteSessionService(path), server.url)
        await append(mine, 70)
        before = await read(cached(SqliteSessionService(path), server.url))
        assert len(before.events) == 70
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", _OTHER, path, server.url], check=True, timeout=60, env=env)
        for store in (mine, cached(SqliteSessionService(path), server.url)):
            session = await read(store)
            plain = await read(SqliteSessionService(path))
            assert shown(session) == shown(plain)
            assert (len(session.events), session.state) == (110, {"n": -39})

    asyncio.run(run())


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_redis_that_ends_in_a_run_loses_nothing(
    make: Callable[[], StoredSessionService], server: Any, end: str
) -> None:
    def cached_store() -> StoredSessionService:
        return cached(make(), server.url, patience=0.2)

    async def run() -> None:
        store = cached_store()
        await append(store, 40)
        first = await read(cached_store())
        assert len(first.events) == 40
        if end == "kill":
            server.kill()
        else:
            server.process.send_signal(signal.SIGSTOP)
        try:
            await append(store, 30)
            for _ in range(2):
                session = await read(cached_store())
                assert texts(session) == [f"e {number} é" for number in range(70)]
            await store.delete_session(**WHERE)
            assert await store.get_session(**WHERE) is None
        finally:
            server.process.send_signal(signal.SIGCONT) if end == "stop" else server.start()
        await append(store, 33, "again")
        session = await read(cached_store())
        assert len(session.events) == 33
        await store.close()

    asyncio.run(run())


def test_a_session_that_is_deleted_leaves_redis(make: Callable[[], StoredSessionService], server: Any) -> None:
    async def run() -> None:
        store = cached(make(), server.url)
        await append(store, 70)
        await read(cached(make(), server.url))
        assert len(server.held()) == 2
        await store.delete_session(**WHERE)
        assert server.held() == []
        await store.close()

    asyncio.run(run())


LIES = ("drop", "damage", "swap", "cut", "empty", "list")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 9)),
        st.tuples(st.just("read"), st.just(0)),
        st.tuples(st.sampled_from(["flush", "recreate", "backup", "restore"]), st.just(0)),
        st.tuples(st.sampled_from(LIES), st.integers(0, 20)),
    ),
    max_size=25,
)


def _lie(server: Any, step: str, which: int) -> None:
    """Let Redis have something else under one of its keys."""
    keys = server.held()
    if not keys:
        return
    key, other = keys[which % len(keys)], keys[(which + 1) % len(keys)]
    value = server.value(key)
    server.client.delete(key)
    if step == "damage":
        at = which * 7919 % max(len(value), 1)
        server.client.set(key, value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :] if value else b"x")
    elif step == "swap":
        server.client.set(key, server.value(other))
    elif step == "cut":
        server.client.set(key, value[: len(value) // 2])
    elif step == "empty":
        server.client.set(key, b"")
    elif step == "list":
        server.client.rpush(key, b"x")


def _copy(source: Path, target: Path) -> None:
    with sqlite3.connect(source) as one, sqlite3.connect(target) as two:
        one.backup(two)
    one.close()
    two.close()


@pytest.mark.parametrize("lie", LIES)
def test_what_redis_should_not_have_is_not_shown(tmp_path: Path, server: Any, lie: str) -> None:
    def make() -> SqliteSessionService:
        return SqliteSessionService(tmp_path / "s.db")

    async def run() -> None:
        store = make()
        await append(store, 100)
        await store.close()
        plain = shown(await read(make()))
        for which in range(9):
            await read(cached(make(), server.url))  # it has three chunks again
            _lie(server, lie, which)
            assert shown(await read(cached(make(), server.url))) == plain

    asyncio.run(run())


@given(steps=STEPS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_redis_has_the_session_is_that_of_the_store(
    server: Any, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    path, copy = folder / "s.db", folder / "copy.db"
    server.client.flushall()

    async def step(name: str, number: int, count: int) -> None:
        if name == "append":
            store = cached(SqliteSessionService(path), server.url)
            await append(store, number, f"{count}")
            await store.close()
        elif name == "recreate":
            store = SqliteSessionService(path)  # which knows of no cache
            await store.delete_session(**WHERE)
            await store.create_session(**WHERE)
            await store.close()
        elif name == "backup":
            _copy(path, copy)
        elif name == "restore" and copy.exists():
            _copy(copy, path)
        elif name == "flush":
            server.client.flushall()
        elif name not in ("read", "restore"):
            _lie(server, name, number)
        got = await read(cached(SqliteSessionService(path), server.url))
        plain = await read(SqliteSessionService(path))
        assert shown(got) == shown(plain)

    async def run() -> None:
        store = SqliteSessionService(path)
        await store.create_session(**WHERE)
        await store.close()
        for count, (name, number) in enumerate(steps):
            await step(name, number, count)

    size, chunks.SIZE = chunks.SIZE, 3
    try:
        asyncio.run(run())
    finally:
        chunks.SIZE = size
        shutil.rmtree(folder)


def test_a_past_that_a_restored_backup_has_not_is_not_shown(tmp_path: Path, server: Any) -> None:
    path, copy = tmp_path / "s.db", tmp_path / "copy.db"

    def make() -> StoredSessionService:
        return cached(SqliteSessionService(path), server.url)

    async def run() -> None:
        store = make()
        await append(store, 40)
        await store.close()
        _copy(path, copy)
        store = make()
        await append(store, 60, "gone")
        await store.close()
        await read(make())  # Redis has 96 of them now
        _copy(copy, path)
        store = make()
        await append(store, 60, "new")
        await store.close()
        counts = []
        for _ in range(2):
            plain = SqliteSessionService(path)
            count = counted(plain)
            session = await read(cached(plain, server.url))
            assert [text.split()[0] for text in texts(session)] == ["e"] * 40 + ["new"] * 60
            counts.append(count.events)
        assert counts == [5 + 100, 5]  # and the second time Redis has the new past

    asyncio.run(run())


# --- opening ----------------------------------------------------------------------------------------------------------


def test_a_uri_names_both(tmp_path: Path, server: Any) -> None:
    async def run() -> None:
        store = opened(f"{server.url}?ttl=60&store=sqlite:///{tmp_path}/s.db")
        assert isinstance(store, SqliteSessionService)
        await append(store, 40)
        await read(opened(f"{server.url}?ttl=60&store=sqlite:///{tmp_path}/s.db"))
        (key,) = server.held()
        assert key.startswith(b"newel:")
        assert 0 < server.client.ttl(key) <= 60
        await store.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("redis://127.0.0.1", "'redis://127.0.0.1' names no store: a cache is in front of one"),
        ("redis://u:geheim@127.0.0.1/0?store=", r"'redis://u:\*\*\*@127.0.0.1/0\?store=' names no store"),
        ("redis://127.0.0.1/0?ttl=soon&store=sqlite:///{}/s.db", "patience in the URL of the cache must be numbers"),
        ("redis://127.0.0.1/0?ttl=0&store=sqlite:///{}/s.db", "ttl=0, patience=1: give a ttl of 1 or more"),
        ("redis://127.0.0.1/0?max_connections=x&store=sqlite:///{}/s.db", "this is not a Redis URL"),
    ],
)
def test_a_uri_that_is_wrong_is_refused(tmp_path: Path, uri: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        opened(uri.format(tmp_path))


def test_a_store_in_memory_needs_no_cache() -> None:
    with pytest.raises(ConfigurationError, match="InMemorySessionService keeps no sessions in a database"):
        cached(InMemorySessionService())  # type: ignore[type-var]


def test_the_plugin_opens_it_and_imports_no_client(tmp_path: Path) -> None:
    code = (
        "import sys, newel_redis.plugin; newel_redis.plugin.register_session_backends(); "
        "print('redis' in sys.modules, 'sqlite3' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "False False\n"


@pytest.mark.parametrize("url", ["redis://ann:hush#w@127.0.0.1:6379", "redis://ann:hush/w@127.0.0.1"])
def test_a_password_that_makes_no_url_is_not_told(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="this is not a Redis URL: write redis://") as caught:
        cached(SqliteSessionService(str(tmp_path / "s.db")), url)
    assert "hush" not in "".join(traceback.format_exception(caught.value))
