"""SqliteMemoryService: memory in a file, found by words."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from newel.memory import MemoryStoreError, MemoryUnavailableError, SqliteMemoryService
from newel.memory.kinds import MemoryBackend
from newel.memory.sqlite import file as memory_file
from newel.memory.sqlite.binding import binding
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, Session

USER: dict[str, Any] = {"app_name": "desk", "user_id": "ada"}


def session(*texts: str, id: str = "s1", **where: str) -> Session:
    authors = ("user", "clerk")
    events = [
        Event(id=f"{id}-{i}", author=authors[i % 2], message=text, timestamp=10.0 + i) for i, text in enumerate(texts)
    ]
    return Session(id=id, **{**USER, **where}, events=events)


async def found(memory: SqliteMemoryService, query: str, **how: Any) -> list[str]:
    response = await memory.search_memory(**{**USER, **how}, query=query)
    return [entry.content.parts[0].text for entry in response.memories]


@asynccontextmanager
async def remembering(*sessions: Session, path: Any = ":memory:") -> AsyncIterator[SqliteMemoryService]:
    async with SqliteMemoryService(path) as memory:
        for one in sessions:
            await memory.add_session_to_memory(one)
        yield memory


def test_adding_again_adds_nothing_and_a_session_is_as_it_is_now(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "deep" / "memory.db"
        first = session("hello one", "hello two")
        async with remembering(first, first, path=path) as memory:
            await memory.add_events_to_memory(**USER, events=first.events, session_id="s1", custom_metadata={"k": 1})
            assert await found(memory, "hello") == ["hello two", "hello one"]
            before = _rows(path)
            await memory.add_session_to_memory(first)
            assert _rows(path) == before
            rewound = Session(id="s1", **USER, events=first.events[:1])
            await memory.add_session_to_memory(rewound)
            assert await found(memory, "hello") == ["hello one"]
        async with SqliteMemoryService(f"sqlite:///{path}") as memory:
            assert await found(memory, "hello") == ["hello one"]

    asyncio.run(main())


def _rows(path: Path) -> list[Any]:
    connection = binding().connect(str(path), timeout=1, isolation_level=None, check_same_thread=False)
    try:
        return connection.execute("SELECT number, key, text FROM entries ORDER BY number").fetchall()
    finally:
        connection.close()


def test_what_is_forgotten_is_not_in_the_file(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "memory.db"
        kept = session("hello rhubarb", id="s2")
        async with remembering(session("hello xylophone", "what a zephyr"), kept, path=path) as memory:
            assert await memory.forget_session(**USER, session_id="s1") == 2
            assert await memory.forget_session(**USER, session_id="s1") == 0
            assert await found(memory, "hello") == ["hello rhubarb"]
            data = b"".join(one.read_bytes() for one in tmp_path.iterdir())
            assert b"xylophone" not in data
            assert b"zephyr" not in data
            assert b"rhubarb" in data
            assert await memory.forget_user(**USER) == 1
            assert b"rhubarb" not in b"".join(one.read_bytes() for one in tmp_path.iterdir())

    asyncio.run(main())


def test_another_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match="another program"):
        SqliteMemoryService(path)
    assert path.read_bytes() == before
    (tmp_path / "text").write_text("no database at all, but long enough to be read as one" * 30)
    with pytest.raises(MemoryStoreError, match="not a database"):
        SqliteMemoryService(tmp_path / "text")
    with pytest.raises(ConfigurationError, match="no parameters"):
        SqliteMemoryService("sqlite:///x.db?embedder=y")
    SqliteMemoryService(tmp_path / "new.db")._file.close()
    with sqlite3.connect(tmp_path / "new.db") as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(ConfigurationError, match="later newel"):
        SqliteMemoryService(tmp_path / "new.db")


def test_a_lock_is_waited_for_and_then_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_file, "BUSY_SECONDS", 0.05)

    async def main() -> None:
        path = tmp_path / "memory.db"
        async with remembering(session("hello"), path=path) as memory:
            other = binding().connect(str(path), timeout=1, isolation_level=None, check_same_thread=False)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(MemoryUnavailableError, match="another process is writing"):
                await memory.add_session_to_memory(session("later", id="s2"))
            assert await found(memory, "hello") == ["hello"]
            other.execute("ROLLBACK")
            other.close()
            await memory.add_session_to_memory(session("later", id="s2"))
            assert await found(memory, "later") == ["later"]

    asyncio.run(main())


def test_several_processes_add_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    program = f"""
import asyncio, sys
from newel.memory import SqliteMemoryService
from newel_kernel import Event
async def main():
    async with SqliteMemoryService({str(path)!r}) as memory:
        for n in range(20):
            event = Event(id=f"{{sys.argv[1]}}-{{n}}", author="user", message=f"hello {{n}}")
            both = Event(id=f"both-{{n}}", author="user", message=f"both {{n}}")
            await memory.add_events_to_memory(app_name="desk", user_id="ada", session_id="s", events=[event, both])
asyncio.run(main())
"""
    running = [subprocess.Popen([sys.executable, "-c", program, str(number)]) for number in range(3)]
    assert [one.wait() for one in running] == [0, 0, 0]

    async def main() -> None:
        async with SqliteMemoryService(path) as memory:
            assert len(await found(memory, "hello", limit=100)) == 60
            assert len(await found(memory, "both", limit=100)) == 20

    asyncio.run(main())


def test_the_store_opens_from_an_address(tmp_path: Path) -> None:
    opened = compose("adk").open_service(MemoryBackend, f"sqlite:///{tmp_path}/memory.db")
    assert isinstance(opened, SqliteMemoryService)
    asyncio.run(opened.close())
    with pytest.raises(MemoryStoreError, match="closed"):
        asyncio.run(found(opened, "x"))
