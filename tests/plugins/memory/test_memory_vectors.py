"""Memory with an embedder: found by meaning too, by the vectors of one embedder only."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.plugins.memory.minilm import MiniLm
from tests.plugins.memory.paraphrases import PARAPHRASES, filler

from newel.memory import Embedder, EmbedderMismatchError, MemoryFilter, MemoryStoreError, SqliteMemoryService
from newel.memory.kinds import EmbedderFactory, MemoryBackend
from newel.memory.sqlite.binding import check_vectors
from newel.testing import HashingEmbedder
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, Session, hookimpl
from newel_postgres import PostgresMemoryService
from newel_postgres.memory import plugin as postgres

Memory: TypeAlias = SqliteMemoryService | PostgresMemoryService
_apps = count(1)
USER: dict[str, Any] = {"app_name": "desk", "user_id": "ada"}


def session(*texts: str, id: str = "s1", **where: str) -> Session:
    events = [Event(id=f"{id}-{i}", author="user", message=text, timestamp=10.0 + i) for i, text in enumerate(texts)]
    return Session(id=id, **{**USER, **where}, events=events)


async def found(memory: Memory, query: str, **how: Any) -> list[str]:
    response = await memory.search_memory(**{**USER, **how}, query=query)
    return [entry.content.parts[0].text for entry in response.memories]


class Place:
    """Where a memory is kept; each opening finds what the ones before have stored."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def open(self, embedder: Embedder | None = None) -> Memory:
        if self.uri.startswith("sqlite"):
            return SqliteMemoryService(self.uri, embedder=embedder)
        return PostgresMemoryService(self.uri, embedder=embedder)

    def numbers(self, sqlite: str, postgres: str) -> list[int]:
        """What a statement gives, one number a row."""
        if self.uri.startswith("sqlite"):
            with closing(sqlite3.connect(self.uri.removeprefix("sqlite:///"))) as connection:
                return [number for (number,) in connection.execute(sqlite).fetchall()]

        async def fetched() -> list[int]:
            connection = await asyncpg.connect(self.uri)
            try:
                return [number for (number,) in await connection.fetch(postgres)]
            finally:
                await connection.close()

        return asyncio.run(fetched())


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place; skips where its vectors cannot be had."""
    if request.param == "sqlite":
        try:
            check_vectors()
        except ConfigurationError as reason:
            pytest.skip(str(reason))
        return Place(f"sqlite:///{tmp_path}/memory.db")
    place = Place(request.getfixturevalue("postgres")())
    if not place.numbers("", "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        pytest.skip("this PostgreSQL server has no pgvector")
    return place


class Counting(HashingEmbedder):
    """Says how many texts each call had."""

    def __init__(self, dimension: int = 64, *, batch: int = 4) -> None:
        super().__init__(dimension, batch=batch)
        self.calls: list[int] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls.append(len(texts))
        return await super().embed(texts)


@pytest.mark.parametrize("few", [2000, 1])
def test_a_word_in_another_form_is_found(few: int, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for store in ("newel.memory.sqlite", "newel_postgres.memory"):
        monkeypatch.setattr(f"{store}.vectors.FEW", few)

    async def main() -> None:
        texts = ["planting strawberries", "a letter from Rome", "the gearbox is broken"]
        async with place.open(HashingEmbedder()) as memory:
            await memory.add_session_to_memory(session(*texts))
            await memory.add_session_to_memory(session("strawberry", id="s9", user_id="bob"))
            assert (await found(memory, "strawberry plants"))[0] == texts[0]
            assert (await found(memory, "letter"))[0] == texts[1]
            response = await memory.search_memory(**USER, query="gearboxes", limit=1)
            assert response.memories[0].score is not None
            assert "strawberry" not in await found(memory, "strawberry", limit=1000)
            assert await found(memory, "x", user_id="nobody") == []
            await memory.add_session_to_memory(session("strawberries too", "more", id="s2"))
            narrow = await found(memory, "strawberry", filter=MemoryFilter(session_id="s2"))
            assert narrow[0] == "strawberries too"
            assert set(narrow) == {"strawberries too", "more"}
            assert len(await found(memory, "?!", limit=1000)) <= 5

    asyncio.run(main())


def test_texts_are_embedded_in_batches_and_once(place: Place) -> None:
    async def main() -> None:
        embedder = Counting()
        async with place.open(embedder) as memory:
            one = session(*(f"text {number}" for number in range(10)))
            await memory.add_session_to_memory(one)
            assert embedder.calls == [4, 4, 2]
            await memory.add_session_to_memory(one)
            await memory.add_events_to_memory(**USER, events=one.events, session_id="s1")
            assert embedder.calls == [4, 4, 2]

    asyncio.run(main())


def test_another_embedder_is_refused_until_reindex_converts(place: Place) -> None:
    async def main() -> None:
        async with place.open() as memory:
            await memory.add_session_to_memory(session("planting strawberries", "the gearbox is broken"))
            with pytest.raises(ConfigurationError, match="open the memory with an embedder"):
                await memory.reindex()
        for dimension in (64, 128):
            async with place.open(HashingEmbedder(dimension)) as memory:
                for call in (found(memory, "gearbox"), memory.add_session_to_memory(session("x", id="s2"))):
                    with pytest.raises(EmbedderMismatchError, match="reindex"):
                        await call
                assert await memory.reindex() == 2
                assert (await found(memory, "strawberry"))[0] == "planting strawberries"
        async with place.open() as memory:
            with pytest.raises(EmbedderMismatchError, match=r"'hashing-128' \(128\), not of none"):
                await found(memory, "gearbox")
            assert await memory.forget_session(**USER, session_id="s1") == 2  # to forget needs no embedder
        async with place.open(HashingEmbedder(128)) as memory:
            assert await found(memory, "strawberry") == []

    asyncio.run(main())


def test_of_two_conversions_at_once_in_a_file_the_later_one_goes_on(tmp_path: Path) -> None:
    class Opposite(HashingEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            begun.set()
            await go_on.wait()
            return [[-number for number in vector] for vector in await super().embed(texts)]

    begun, go_on = asyncio.Event(), asyncio.Event()
    opposite = Opposite()
    opposite.name = "opposite"
    path = tmp_path / "memory.db"

    async def main() -> None:
        async with SqliteMemoryService(path) as memory:
            await memory.add_session_to_memory(session("planting strawberries", "the gearbox is broken"))
        async with (
            SqliteMemoryService(path, embedder=opposite) as first,
            SqliteMemoryService(path, embedder=HashingEmbedder()) as second,
        ):
            overtaken = asyncio.ensure_future(first.reindex())
            await begun.wait()
            assert await second.reindex() == 2
            go_on.set()
            with pytest.raises(MemoryStoreError, match="began in the meantime, and this one has stopped"):
                await overtaken
            assert (await found(second, "strawberry"))[0] == "planting strawberries"
            with pytest.raises(EmbedderMismatchError):
                await found(first, "strawberry")
        with closing(sqlite3.connect(path)) as connection:
            tables = "SELECT name FROM sqlite_master WHERE name GLOB 'vectors_[0-9]'"
            assert connection.execute(tables).fetchall() == [("vectors_2",)]

    asyncio.run(main())


def test_a_conversion_that_breaks_off_changes_nothing(place: Place) -> None:
    class Breaking(Counting):
        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            if len(self.calls) == 1:
                raise OSError("no network")
            return await super().embed(texts)

    left: list[int] = []
    sql = ("SELECT number FROM vectors_2", "SELECT number FROM newel_memory_vectors WHERE generation = 2")

    async def main() -> None:
        async with place.open(HashingEmbedder()) as memory:
            await memory.add_session_to_memory(session(*(f"strawberry {number}" for number in range(9))))
        async with place.open(Breaking()) as other:
            with pytest.raises(OSError, match="no network"):
                await other.reindex()
        async with place.open(HashingEmbedder()) as memory:
            assert len(await found(memory, "strawberries")) == 9
            await memory.add_session_to_memory(session("forgotten", id="s2"))
            assert await memory.delete_memories(**USER, ids=[*map(str, range(1500)), "s1-0", "s2-0"]) == 2
        left.extend(await asyncio.to_thread(place.numbers, *sql))
        async with place.open(HashingEmbedder()) as memory:
            await memory.add_session_to_memory(session("strawberry 0", id="s2"))
        async with place.open(Counting()) as other:
            assert await other.reindex() == 9
            assert len(await found(other, "strawberries")) == 9

    asyncio.run(main())
    assert sorted(left) == [2, 3, 4]


@pytest.mark.parametrize(
    "made",
    [[[1.0] * 8, [1.0] * 8], [[1.0] * 7], [[float("nan")] * 8], [[1e300] * 8]],
    ids=["two", "short", "nan", "big"],
)
def test_vectors_that_are_none_are_refused_whole(place: Place, made: list[list[float]]) -> None:
    class Wrong(HashingEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return made

    async def main() -> None:
        async with place.open(Wrong(8)) as memory:
            with pytest.raises(MemoryStoreError, match="hashing-8"):
                await memory.add_session_to_memory(session("hello"))
            if len(made) == 1:  # of several, the first is the question's
                with pytest.raises(MemoryStoreError, match="hashing-8"):
                    await found(memory, "hello")

    asyncio.run(main())
    rows = "SELECT 1 FROM {0}entries UNION ALL SELECT 1 FROM {0}owners"
    assert place.numbers(rows.format(""), rows.format("newel_memory_")) == []
    with pytest.raises(ConfigurationError, match="multiple of 8"):
        place.open(HashingEmbedder(12))


def test_no_driver_is_imported_before_its_service_is_made() -> None:
    program = (
        "import sys; from newel_compose import compose; import newel.memory; from newel.memory.kinds import "
        "MemoryBackend; composed = compose('standard'); bad = {'pysqlite3', 'sqlite_vec'} & set(sys.modules); "
        "assert not bad, bad; composed.open_service(MemoryBackend, 'sqlite::memory:'); "
        "assert 'sqlite_vec' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_real_model_finds_paraphrases_and_numbers_first(place: Place) -> None:
    async def main() -> None:
        model = MiniLm()
        turns = [turn for turn, _ in PARAPHRASES] + filler(160)
        async with place.open(model) as memory:
            await memory.add_session_to_memory(session(*turns))
            right = [(await found(memory, question, limit=1)) == [turn] for turn, question in PARAPHRASES]
            assert sum(right) >= 0.8 * len(PARAPHRASES)
            asked = turns[len(PARAPHRASES) :: 8]
            for question, least in (("Ticket {}?", 20), ("What was the matter with ticket {} of the customer?", 13)):
                first = [await found(memory, question.format(8 * n), limit=1) == [turn] for n, turn in enumerate(asked)]
                assert sum(first) >= least

    asyncio.run(main())


class Embedders:
    """A plugin with two embedders, one of which is none."""

    @hookimpl
    def register_embedders(self) -> list[EmbedderFactory]:
        return [
            EmbedderFactory(name="hashing", create=lambda: HashingEmbedder(64)),
            EmbedderFactory(name="none", create=lambda: "no embedder"),
        ]


def test_a_uri_names_an_embedder_of_a_plugin(place: Place) -> None:
    composed = compose("adk", plugins=[Embedders(), postgres])

    async def main() -> None:
        opened = composed.open_service(MemoryBackend, f"{place.uri}?embedder=hashing")
        assert isinstance(opened, SqliteMemoryService | PostgresMemoryService)
        async with opened:
            await opened.add_session_to_memory(session("planting strawberries", "a letter from Rome"))
            assert await found(opened, "strawberry", limit=1) == ["planting strawberries"]
        async with place.open() as plain:
            with pytest.raises(EmbedderMismatchError):
                await found(plain, "strawberry")

    asyncio.run(main())


@pytest.mark.parametrize("options", ["embedder=hashing&mode=ro", "mode=ro&embedder=hashing"])
def test_a_uri_of_sqlite_takes_an_embedder_alone(tmp_path: Path, options: str) -> None:
    composed = compose("adk", plugins=[Embedders()])
    with pytest.raises(ConfigurationError, match="takes only embedder=NAME: leave mode out of"):
        composed.open_service(MemoryBackend, f"sqlite:///{tmp_path}/memory.db?{options}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("uri", ["sqlite:///{}/memory.db", "postgresql://127.0.0.1:1/x?schema=y"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hashin", "no plugin provides the embedder factory 'hashin'; did you mean 'hashing'"),
        ("none", "str is not an Embedder"),
        ("", "no plugin provides the embedder factory ''"),
    ],
)
def test_an_embedder_that_is_none_leaves_no_file(tmp_path: Path, uri: str, name: str, message: str) -> None:
    composed = compose("adk", plugins=[Embedders(), postgres])
    with pytest.raises(ConfigurationError, match=message):
        composed.open_service(MemoryBackend, f"{uri.format(tmp_path)}{'&' if '?' in uri else '?'}embedder={name}")
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_another_user_is_near(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    users = [("desk", "ada"), ("desk", "ad"), ("des", "kada"), ("DESK", "ada"), ("desk", "")]

    async def main() -> None:
        async with place.open(HashingEmbedder()) as memory:
            for app, user in users:
                await memory.add_session_to_memory(session(f"hello {app} {user} end", app_name=app, user_id=user))
            for app, user in users:
                for query in ("hello", "hello DESK ada end", "ada", "?", "hellos"):
                    only = MemoryFilter(author="user")
                    for chosen in (None, only):
                        got = await found(memory, query, app_name=app, user_id=user, filter=chosen, limit=1000)
                        assert got in ([f"hello {app} {user} end"], [])
                assert await memory.forget_user(app_name=app, user_id=user) == 1
                assert await found(memory, "hello", app_name=app, user_id=user) == []

    for few in (2000, 0):
        for store in ("newel.memory.sqlite", "newel_postgres.memory"):
            monkeypatch.setattr(f"{store}.vectors.FEW", few)
        asyncio.run(main())


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=30), max_size=6), st.text(max_size=30), st.integers(1, 8))
def test_any_text_has_a_vector(place: Place, said: list[str], query: str, limit: int) -> None:
    app = f"app {next(_apps)}"
    kept = [text for text in said if text and _encodes(text)]

    async def main() -> None:
        async with place.open(HashingEmbedder(64)) as memory:
            for number, text in enumerate(kept):
                await memory.add_session_to_memory(session(text, id=str(number), app_name=app))
            got = await found(memory, query, app_name=app, limit=limit)
            assert len(got) <= limit
            assert Counter(got) <= Counter(kept)
            for text in kept:
                if any(letter.isalnum() for letter in text):
                    assert text in await found(memory, text, app_name=app, limit=8)
            for number in range(len(kept)):
                assert await memory.forget_session(app_name=app, user_id="ada", session_id=str(number)) == 1

    asyncio.run(main())


def _encodes(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def test_words_and_vectors_rank_together(place: Place) -> None:
    """A word that is rare decides, also among usual ones; where no word is shared, the vectors do."""

    async def main() -> None:
        chance = random.Random(7)
        usual = [f"{a}{b}" for a in ("ta", "ko", "mi", "re", "su", "lo") for b in ("ra", "ni", "ven", "dor", "pel")]
        turns = [" ".join([*chance.choices(usual, k=15), f"rare{number}"]) for number in range(2000)]
        async with place.open(HashingEmbedder()) as memory:
            await memory.add_session_to_memory(session(*turns, "the gearbox is broken"))
            right = 0
            for number in chance.sample(range(2000), 50):
                question = " ".join([*chance.choices(usual, k=6), f"RARE{number}?"])
                right += (await found(memory, question, limit=1)) == [turns[number]]
                assert await found(memory, f"RARE{number}?", limit=1) == [turns[number]]
            assert right >= 48
            assert await found(memory, "gearboxes", limit=1) == ["the gearbox is broken"]

    asyncio.run(main())
