"""Servers of stored sessions: what they read stays unchanged, and what cannot be read is refused in a line."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

import newel_postgres.plugin
import newel_redis.plugin
from newel.server.stored import opened_to_read, owners_at, stored_at
from newel.sessions import SqliteSessionService
from newel.sessions.documents import document_of
from newel.sessions.kinds import SessionBackend
from newel_compose import compose
from newel_kernel import ConfigurationError, Session, SessionError

Serve = Callable[..., AbstractContextManager[str]]


def _files(folder: Path) -> dict[str, str]:
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.iterdir()}


def test_the_file_is_not_written_and_no_other_is_made(closed: Path, serve: Serve, tmp_path: Path):
    before = _files(closed.parent)
    with serve(str(closed), "--no-token", cwd=tmp_path) as address, httpx.Client(trust_env=False) as client:
        for path in ("session-summaries", "session-summaries?query=ann"):
            assert client.get(f"{address}dev/apps/shop/users/ann/{path}").json()["total"] == 1
        assert client.get(f"{address}apps/shop/users/ann/sessions/one").json()["state"] == {"from": "the beginning"}
        assert _files(closed.parent) == before
    assert _files(closed.parent) == before
    assert not (tmp_path / ".newel").exists()


async def _leave_log(path: Path, copied: Path) -> None:
    """Copy the file and its log as they are if the process dies after a write."""
    store = SqliteSessionService(path)
    await store.create_session(app_name="shop", user_id="ann", session_id="two")
    copied.mkdir()
    for one in path.parent.iterdir():
        if not one.name.endswith("-shm"):
            (copied / one.name).write_bytes(one.read_bytes())
    await store.close()


def test_a_log_that_a_dead_process_left_is_read_and_kept(closed: Path, serve: Serve, tmp_path: Path):
    copied = tmp_path / "copied"
    asyncio.run(_leave_log(closed, copied))
    before = _files(copied)
    assert "shop.db-wal" in before
    with httpx.Client(trust_env=False) as client, serve(str(copied / "shop.db"), "--no-token", cwd=tmp_path) as at:
        assert client.get(f"{at}dev/apps/shop/users/ann/session-summaries").json()["total"] == 2
    assert {name: sum_ for name, sum_ in _files(copied).items() if not name.endswith("-shm")} == before


async def _session(path: Path) -> Session:
    store = SqliteSessionService(path)
    session = await store.get_session(app_name="bank", user_id="ann", session_id="one")
    assert session is not None
    await store.close()
    return session


def test_an_exported_session_is_shown(closed: Path, serve: Serve, tmp_path: Path):
    session = asyncio.run(_session(closed))
    file = tmp_path / "session.json"
    file.write_text(json.dumps(document_of(session, "")))
    with serve(str(file), "--no-token", cwd=tmp_path) as address, httpx.Client(trust_env=False) as client:
        assert client.get(f"{address}list-apps").json() == ["bank"]
        found = client.get(f"{address}apps/bank/users/ann/sessions/one").json()
        assert found["state"] == {"from": "the beginning"}
        owners = client.get(f"{address}dev/session-owners").json()
        assert [(one["appName"], one["userId"], one["sessions"]) for one in owners] == [("bank", "ann", 1)]


def _refused(*arguments: str, cwd: Path) -> str:
    command = [sys.executable, "-m", "newel.cli.main", "web", *arguments, "--port", "0", "--no-token"]
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0
    assert ended.stderr.count("\n") == 1, ended.stderr
    return ended.stderr


def test_what_is_no_store_is_refused_in_a_line(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("no sessions")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "fake.db").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    assert "there is no file 'none.db'" in _refused("none.db", cwd=tmp_path)
    assert "'notes.txt' has no sessions: name an SQLite file" in _refused("notes.txt", cwd=tmp_path)
    assert "'list.json' is not an exported session" in _refused("list.json", cwd=tmp_path)
    assert "fake.db" in _refused("fake.db", cwd=tmp_path)
    assert "not both" in _refused("fake.db", "--sessions", "sqlite:///s.db", cwd=tmp_path)
    assert "only to read" in _refused("memory:", cwd=tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["fake.db", "list.json", "notes.txt"]


def test_a_store_that_no_plugin_opens_is_refused_in_a_line(tmp_path: Path):
    refused = _refused("oracle://scott:tiger@host/db", cwd=tmp_path)
    assert "no plugin provides a session store for 'oracle://scott" in refused
    assert "tiger" not in refused


def test_a_database_without_sessions_stays_without_them(postgres: Callable[[], str]):
    composition = compose("standard", plugins=[newel_postgres.plugin])
    url = postgres()
    stranger = url.replace("postgres@", "nobody_of_that_name:secret-word@")
    assert stored_at(url, composition) == url
    with pytest.raises(ConfigurationError, match="has no sessions, or those of an older version") as empty:
        asyncio.run(owners_at(url, composition))
    assert "\n" not in str(empty.value)
    with pytest.raises(ConfigurationError, match="cannot be used") as refused:
        asyncio.run(owners_at(stranger, composition))
    assert "secret-word" not in str(refused.value)
    with pytest.raises(ConfigurationError, match="has no sessions"):  # the first look has made no tables
        asyncio.run(owners_at(url, composition))


def _of(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """The URI of an empty place of a kind."""
    if kind == "sqlite+aiosqlite":
        (folder / "s.db").touch()
        return f"sqlite+aiosqlite:///{folder}/s.db"
    if kind == "mysql":
        url: str = request.getfixturevalue("mariadb")()
        return url
    url = request.getfixturevalue("postgres")()
    if kind == "redis":  # nobody listens there, and nobody asks
        return f"redis://127.0.0.1:9/0?store={url}"
    return url.replace("postgresql://", f"{kind}://")


@pytest.mark.parametrize("kind", ["postgresql", "postgresql+asyncpg", "mysql", "sqlite+aiosqlite", "redis"])
def test_a_database_is_read_and_not_written(kind: str, request: pytest.FixtureRequest, tmp_path: Path):
    composition = compose("standard", plugins=[newel_postgres.plugin, newel_redis.plugin])
    url = _of(kind, request, tmp_path)
    written = url.partition("store=")[2] or url

    async def read() -> None:
        with pytest.raises((ConfigurationError, SessionError)):  # empty, and stays so
            await owners_at(url, composition)
        store: Any = composition.open_service(SessionBackend, written)
        await store.create_session(app_name="shop", user_id="ann", session_id="one")
        await store.close()
        shown: Any = opened_to_read(url, composition)
        assert await shown.get_session(app_name="shop", user_id="ann", session_id="one") is not None
        assert await shown.containing(app_name="shop", user_id="ann", texts=["nothing"]) == []
        with pytest.raises(SessionError):
            await shown.create_session(app_name="shop", user_id="ann", session_id="two")
        await shown.close()
        assert [tuple(one)[:3] for one in await owners_at(url, composition)] == [("shop", "ann", 1)]

    asyncio.run(read())
