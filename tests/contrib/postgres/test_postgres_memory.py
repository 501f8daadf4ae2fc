"""PostgresMemoryService: what is of PostgreSQL alone; tests/plugins/memory/test_stored_memory.py has the rest."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from newel.memory import MemoryStoreError, MemoryUnavailableError
from newel.testing import HashingEmbedder
from newel_kernel import ConfigurationError, Event, Session
from newel_postgres import PostgresMemoryService
from newel_postgres.memory import plugin

ALL = "SELECT number, key, words::text FROM newel_memory_entries ORDER BY number"
USER: dict[str, Any] = {"app_name": "desk", "user_id": "ada"}


def session(*texts: str, id: str = "s1", **where: str) -> Session:
    events = [Event(id=f"{id}-{n}", author="user", message=text) for n, text in enumerate(texts)]
    return Session(id=id, **{**USER, **where}, events=events)


async def found(memory: PostgresMemoryService, query: str, **how: Any) -> list[str]:
    response = await memory.search_memory(**{**USER, **how}, query=query)
    return [entry.content.parts[0].text for entry in response.memories]


async def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


async def whole(url: str) -> bool:
    """Whether the counts of each user are those of the entries."""
    sums = "SELECT owner, count(*), sum(length) FROM newel_memory_entries GROUP BY owner ORDER BY owner"
    counts = "SELECT number, entries, length FROM newel_memory_owners WHERE entries > 0 ORDER BY number"
    return await rows(url, sums) == await rows(url, counts)


def test_adding_again_adds_nothing_and_a_session_is_as_it_is_now(postgres: Callable[[], str]) -> None:
    url = postgres()

    async def main() -> None:
        first = session("hello one", "hello two")
        async with PostgresMemoryService(url) as memory:
            await memory.add_session_to_memory(first)
            before = await rows(url, ALL)
            assert len(before) == 2
            await memory.add_session_to_memory(first)
            await memory.add_events_to_memory(**USER, events=first.events, session_id="s1", custom_metadata={"k": 1})
            assert await rows(url, ALL) == before
            await memory.add_session_to_memory(Session(id="s1", **USER, events=first.events[:1]))
        async with PostgresMemoryService(url) as memory:
            assert await found(memory, "hello") == ["hello one"]
        assert await whole(url)

    asyncio.run(main())


def test_what_is_forgotten_is_in_no_row(postgres: Callable[[], str]) -> None:
    url = postgres()

    async def main() -> None:
        async with PostgresMemoryService(url) as memory:
            await memory.add_session_to_memory(session("hello xylophone", "what a zephyr"))
            await memory.add_session_to_memory(session("hello rhubarb", id="s2"))
            await memory.add_session_to_memory(session("hello bob", user_id="bob"))
            assert await memory.forget_session(**USER, session_id="s1") == 2
            assert await memory.forget_session(**USER, session_id="s1") == 0
            assert await found(memory, "hello") == ["hello rhubarb"]
            assert await whole(url)
            assert await memory.forget_user(**USER) == 1
            assert await memory.forget_user(**USER) == 0
            assert await rows(url, "SELECT user_id FROM newel_memory_owners") == [("bob",)]
            assert await found(memory, "hello", user_id="bob") == ["hello bob"]

    asyncio.run(main())


_PROGRAM = """
import asyncio, sys
from newel_kernel import Event
from newel_postgres import PostgresMemoryService
async def main():
    async with PostgresMemoryService(sys.argv[1]) as memory:
        for n in range(20):
            event = Event(id=f"{sys.argv[2]}-{n}", author="user", message=f"hello {n}")
            both = Event(id=f"both-{n}", author="user", message=f"both {n}")
            await memory.add_events_to_memory(app_name="desk", user_id="ada", session_id="s", events=[event, both])
            if sys.argv[2] == "0":
                await memory.forget_user(app_name="desk", user_id="eve")
            await memory.add_events_to_memory(app_name="desk", user_id="eve", session_id="s", events=[event])
asyncio.run(main())
"""


def test_several_processes_make_the_tables_and_add(postgres: Callable[[], str]) -> None:
    url = postgres()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [subprocess.Popen([sys.executable, "-c", _PROGRAM, url, str(number)], env=env) for number in range(3)]
    assert [one.wait() for one in running] == [0, 0, 0]

    async def main() -> None:
        async with PostgresMemoryService(url) as memory:
            assert len(await found(memory, "hello", limit=100)) == 60
            assert len(await found(memory, "both", limit=100)) == 20
        assert await whole(url)

    asyncio.run(main())


def test_a_text_that_no_index_holds_whole_is_kept_whole(postgres: Callable[[], str]) -> None:
    url = postgres()
    text = " ".join(f"wörd{number}" for number in range(100_000))

    async def main() -> None:
        async with PostgresMemoryService(url) as memory:
            await memory.add_session_to_memory(session(text, "word " * 150_000))
            (entry,) = (await memory.search_memory(**USER, query="WORD7")).memories
            assert entry.content.parts is not None
            assert entry.content.parts[0].text == text
            assert len(await found(memory, "word")) == 1

    asyncio.run(main())


def test_a_schema_is_chosen_and_a_later_one_refused(postgres: Callable[[], str]) -> None:
    url = postgres()

    async def main() -> None:
        async with PostgresMemoryService(f"{url}?schema=My memory") as memory:
            await memory.add_session_to_memory(session("hello"))
            assert await found(memory, "hello") == ["hello"]
        async with PostgresMemoryService(url) as other:
            assert await found(other, "hello") == []
        await rows(url, 'DROP SCHEMA "My memory" CASCADE')  # the next test has this database, with another public one
        await rows(url, "UPDATE newel_memory_schema SET version = 99")
        async with PostgresMemoryService(url) as memory:
            with pytest.raises(MemoryStoreError, match="written by a later newel-postgres"):
                await found(memory, "hello")

    asyncio.run(main())


def test_a_server_that_is_cut_off_is_waited_for_and_then_said(postgres: Callable[[], str]) -> None:
    url = postgres()

    async def main() -> None:
        async with PostgresMemoryService(url, patience=10) as memory:
            await memory.add_session_to_memory(session("hello"))
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            await rows(url, f"{end} AND pid <> pg_backend_pid()")
            assert await found(memory, "hello") == ["hello"]
        with pytest.raises(MemoryStoreError, match="is closed"):
            await found(memory, "hello")
        async with PostgresMemoryService("postgresql://u:geheim@127.0.0.1:1/none", patience=0.2) as memory:
            with pytest.raises(MemoryUnavailableError, match="cannot be reached for") as caught:
                await found(memory, "hello")
            assert "geheim" not in str(caught.value)
            assert caught.value.retry_after > 0

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("mysql://127.0.0.1/x", {}, "a PostgreSQL memory is named by postgresql://user@host"),
        ("postgresql://127.0.0.1/x?pool_size=many", {}, "pool_size in the URL of a memory is no number"),
        ("postgresql://127.0.0.1/x", {"pool_size": 0}, "pool_size is 0: at least one connection"),
        ("postgresql://127.0.0.1/x?schema=y&embedder=small", {}, "takes no embedder: .* keep the memory in SQLite"),
        ("postgresql://127.0.0.1/x", {"embedder": HashingEmbedder()}, "takes no embedder"),
    ],
)
def test_what_is_wrong_is_refused(url: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        PostgresMemoryService(url, **options)


def test_the_plugin_opens_it_and_imports_no_driver(postgres: Callable[[], str]) -> None:
    backends = {one.name: one for one in plugin.register_memory_backends()}
    assert set(backends) == {"postgres", "postgresql"}
    opened = backends["postgresql"].open(postgres())
    assert isinstance(opened, PostgresMemoryService)
    code = "import sys, newel_postgres.memory.plugin; print('asyncpg' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "False\n"
