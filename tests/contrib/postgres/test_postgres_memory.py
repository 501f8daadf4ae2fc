"""PostgresMemoryService: what is of PostgreSQL alone; tests/plugins/memory/test_stored_memory.py has the rest."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg
import pytest

from newel.memory import EmbedderMismatchError, MemoryStoreError, MemoryUnavailableError
from newel.testing import HashingEmbedder
from newel_kernel import ConfigurationError, Event, Session
from newel_postgres import PostgresMemoryService
from newel_postgres.memory import plugin, service
from newel_postgres.memory.lexemes import Words

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
    said = "SELECT owner, lexeme, count(*) FROM newel_memory_entries, unnest(words) GROUP BY 1, 2 ORDER BY 1, 2"
    terms = "SELECT owner, lexeme, entries FROM newel_memory_terms ORDER BY 1, 2"
    return await rows(url, sums) == await rows(url, counts) and await rows(url, said) == await rows(url, terms)


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


def test_a_text_is_split_into_words_before_the_transaction(
    postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, split = postgres(), service.words_of

    def idle_in_transaction(text: str) -> Words:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in %'"
        seen.extend(asyncio.run(rows(url, query)))
        return split(text)

    async def main() -> None:
        async with PostgresMemoryService(url) as memory:
            await memory.add_session_to_memory(session("hello one", "hello two"))
            await memory.add_session_to_memory(session("hello one", "hello again"))
            assert sorted(await found(memory, "hello")) == ["hello again", "hello one"]

    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr(service, "words_of", idle_in_transaction)
    asyncio.run(main())
    assert seen == [(0,)] * 3, "what is known is not split again"


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
            with pytest.raises(MemoryUnavailableError, match="could not be reached for") as caught:
                await found(memory, "hello")
            assert "geheim" not in str(caught.value)
            assert caught.value.retry_after > 0

    asyncio.run(main())


@pytest.fixture
def pgvector(postgres: Callable[[], str]) -> str:
    """The URL of an empty database of a server that has pgvector."""
    url = postgres()
    if not asyncio.run(rows(url, "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")):
        pytest.skip("this PostgreSQL server has no pgvector")
    return url


def test_without_an_embedder_nothing_of_pgvector_is_touched(pgvector: str) -> None:
    async def main() -> None:
        async with PostgresMemoryService(pgvector) as memory:
            await memory.add_session_to_memory(session("hello"))
            assert await found(memory, "hello") == ["hello"]
        assert await rows(pgvector, "SELECT 1 FROM pg_extension WHERE extname = 'vector'") == []
        assert await rows(pgvector, "SELECT to_regclass('newel_memory_vectors')") == [(None,)]

    asyncio.run(main())


def test_an_embedder_without_pgvector_is_refused_before_anything_is_written(pgvector: str) -> None:
    """Here the extension may not be made; a server that has not got it at all says so in the same place."""
    role = f"newel_{pgvector.rpartition('/')[2]}"
    plain = pgvector.replace("postgres@", f"{role}@")

    async def main() -> None:
        await rows(pgvector, f"CREATE ROLE {role} LOGIN")
        try:
            await rows(pgvector, f"GRANT ALL ON SCHEMA public TO {role}")
            async with PostgresMemoryService(plain, embedder=HashingEmbedder()) as memory:
                for call in (found(memory, "hello"), memory.add_session_to_memory(session("hello")), memory.reindex()):
                    with pytest.raises(ConfigurationError, match=r"permission denied.*an administrator run CREATE"):
                        await call
            assert await rows(pgvector, "SELECT relname FROM pg_class WHERE relname LIKE 'newel%'") == []
            async with PostgresMemoryService(plain) as memory:
                await memory.add_session_to_memory(session("hello"))
            await rows(pgvector, "CREATE SCHEMA extensions")
            await rows(pgvector, "CREATE EXTENSION vector SCHEMA extensions")
            await rows(pgvector, f"GRANT USAGE ON SCHEMA extensions TO {role}")
            async with PostgresMemoryService(plain, embedder=HashingEmbedder()) as memory:
                with pytest.raises(EmbedderMismatchError, match="call reindex"):
                    await found(memory, "hello")
                assert await memory.reindex() == 1
                assert await found(memory, "hellos") == ["hello"]
        finally:
            await rows(pgvector, "DROP SCHEMA IF EXISTS extensions CASCADE")
            await rows(pgvector, f"DROP OWNED BY {role}")
            await rows(pgvector, f"DROP ROLE {role}")

    asyncio.run(main())


def test_a_memory_that_has_not_counted_its_words_counts_them(postgres: Callable[[], str]) -> None:
    url = postgres()

    async def main() -> None:
        async with PostgresMemoryService(url) as memory:
            for user, text in (("ada", "hello hello you"), ("ada", "you there"), ("bob", "hello")):
                await memory.add_session_to_memory(session(text, id=text, user_id=user))
        await rows(url, "DROP TABLE newel_memory_terms")
        await rows(url, "UPDATE newel_memory_schema SET version = 2")
        async with PostgresMemoryService(url) as one, PostgresMemoryService(url) as two:
            first, second = await asyncio.gather(found(one, "hello"), found(two, "hello"))
            assert first == second == ["hello hello you"]
            assert await whole(url)
            await one.forget_session(**USER, session_id="you there")
            assert await whole(url)

    asyncio.run(main())


def test_a_word_that_is_not_counted_is_found_all_the_same(postgres: Callable[[], str]) -> None:
    """As where a process of an earlier release, which counts none, went on writing."""
    url = postgres()

    async def main() -> None:
        async with PostgresMemoryService(url) as memory:
            await memory.add_session_to_memory(session("hello", "日本語"))
            await rows(url, "DELETE FROM newel_memory_terms")
            assert await found(memory, "hello") == ["hello"]
            assert await found(memory, "本") == ["日本語"]
            assert await memory.forget_user(**USER) == 2

    asyncio.run(main())


def test_a_memory_of_the_first_schema_is_brought_to_this_one(pgvector: str) -> None:
    async def main() -> None:
        async with PostgresMemoryService(pgvector) as memory:
            await memory.add_session_to_memory(session("hello"))
        await rows(pgvector, "DROP TABLE newel_memory_embedder, newel_memory_terms")
        await rows(pgvector, "ALTER INDEX newel_memory_words RESET (fastupdate)")
        await rows(pgvector, "UPDATE newel_memory_schema SET version = 1")
        async with PostgresMemoryService(pgvector) as one, PostgresMemoryService(pgvector) as two:
            assert await asyncio.gather(found(one, "hello"), found(two, "hello")) == [["hello"], ["hello"]]
        options = "SELECT reloptions FROM pg_class WHERE relname = 'newel_memory_words'"
        assert await rows(pgvector, options) == [(["fastupdate=off"],)]
        async with PostgresMemoryService(pgvector, embedder=HashingEmbedder()) as memory:
            assert await memory.reindex() == 1
            assert await found(memory, "hellos") == ["hello"]
        await rows(pgvector, "DROP EXTENSION vector CASCADE")
        async with PostgresMemoryService(pgvector, embedder=HashingEmbedder()) as memory:
            with pytest.raises(EmbedderMismatchError, match="call reindex"):
                await found(memory, "hello")
            assert await memory.reindex() == 1
            assert await found(memory, "hellos") == ["hello"]

    asyncio.run(main())


def test_vectors_work_behind_a_pooler_and_in_a_schema_of_their_own(pgvector: str) -> None:
    async def main() -> None:
        url = f"{pgvector}?schema=My memory&proxy=1"
        async with PostgresMemoryService(url, embedder=HashingEmbedder()) as memory:
            await memory.add_session_to_memory(session("planting strawberries", "the gearbox is broken"))
            for _ in range(8):  # so often that a server would plan a statement for good
                assert (await found(memory, "gearboxes"))[0] == "the gearbox is broken"
            assert await memory.forget_session(**USER, session_id="s1") == 2
        for table in ("vectors", "bits"):
            assert await rows(pgvector, f'SELECT count(*) FROM "My memory".newel_memory_{table}') == [(0,)]
        await rows(pgvector, 'DROP SCHEMA "My memory" CASCADE')

    asyncio.run(main())


class Interrupted(HashingEmbedder):
    """Does something else once, while it embeds."""

    def __init__(self, dimension: int, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(dimension, batch=2)
        self._meanwhile: Callable[[], Awaitable[object]] | None = meanwhile

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return await super().embed(texts)


def test_a_conversion_has_what_came_and_went_meanwhile(pgvector: str) -> None:
    async def main() -> None:
        async with PostgresMemoryService(pgvector, embedder=HashingEmbedder(64)) as old:
            await old.add_session_to_memory(session(*(f"strawberry {number}" for number in range(5))))

            async def other() -> None:
                async with PostgresMemoryService(pgvector, embedder=HashingEmbedder(32)) as third:
                    assert await third.reindex() == 5

            async def change() -> None:
                await old.delete_memories(**USER, ids=["s1-0", "s1-4"])
                await old.add_session_to_memory(session("a late gearbox", id="s2"))
                assert (await found(old, "gearboxes"))[0] == "a late gearbox"

            async with PostgresMemoryService(pgvector, embedder=Interrupted(64, other)) as new:
                with pytest.raises(EmbedderMismatchError, match=r"another reindex.. has converted .* 'hashing-32'"):
                    await new.reindex()
                assert await new.reindex() == 5
            async with PostgresMemoryService(pgvector, embedder=Interrupted(128, change)) as new:
                await new.reindex()
                assert (await found(new, "gearboxes"))[0] == "a late gearbox"
                assert len(await found(new, "strawberries")) == 4
            vectors = "SELECT number, vector_dims(vector) FROM newel_memory_vectors ORDER BY number"
            assert await rows(pgvector, vectors) == [(number, 128) for number in (2, 3, 4, 6)]
            with pytest.raises(EmbedderMismatchError, match="'hashing-128'"):
                await old.add_session_to_memory(session("more", id="s3"))

    asyncio.run(main())


def test_two_that_add_the_first_entries_agree(pgvector: str) -> None:
    async def main() -> None:
        async def adds(embedder: HashingEmbedder | None, number: int) -> str:
            async with PostgresMemoryService(pgvector, embedder=embedder) as memory:
                try:
                    await memory.add_session_to_memory(session("hello", id=str(number), user_id=str(number)))
                except EmbedderMismatchError:
                    return "refused"
                return "added"

        embedders = [HashingEmbedder(64), HashingEmbedder(128), None] * 3
        done = await asyncio.gather(*(adds(embedder, number) for number, embedder in enumerate(embedders)))
        assert 1 <= done.count("added") <= 3
        ((name, entries, vectors),) = await rows(
            pgvector,
            "SELECT (SELECT name FROM newel_memory_embedder), (SELECT count(*) FROM newel_memory_entries), "
            "(SELECT count(*) FROM newel_memory_vectors)",
        )
        assert entries == done.count("added")
        assert vectors == (entries if name else 0)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("mysql://127.0.0.1/x", {}, "a PostgreSQL memory is named by postgresql://user@host"),
        ("postgresql://127.0.0.1/x?pool_size=many", {}, "pool_size in the URL of a memory is not a number"),
        ("postgresql://127.0.0.1/x", {"pool_size": 0}, "pool_size is 0: at least one connection"),
        ("postgresql://127.0.0.1/x?schema=y&embedder=small", {}, "a plugin's, which only a composition knows: name"),
        ("postgresql://127.0.0.1/x", {"embedder": "small"}, "str is not an Embedder"),
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
