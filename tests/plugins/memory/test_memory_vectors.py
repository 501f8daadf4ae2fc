"""Memory with an embedder: found by meaning too, by the vectors of one embedder only."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.memory.minilm import MiniLm
from tests.plugins.memory.paraphrases import PARAPHRASES, filler

from newel.memory import EmbedderMismatchError, MemoryFilter, MemoryStoreError, SqliteMemoryService
from newel.memory.kinds import EmbedderFactory, MemoryBackend
from newel.memory.sqlite import vectors
from newel.memory.sqlite.binding import check_vectors
from newel.testing import HashingEmbedder
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, Session, hookimpl

try:
    check_vectors()
except ConfigurationError as reason:
    pytest.skip(str(reason), allow_module_level=True)

USER: dict[str, Any] = {"app_name": "desk", "user_id": "ada"}


def session(*texts: str, id: str = "s1", **where: str) -> Session:
    events = [Event(id=f"{id}-{i}", author="user", message=text, timestamp=10.0 + i) for i, text in enumerate(texts)]
    return Session(id=id, **{**USER, **where}, events=events)


async def found(memory: SqliteMemoryService, query: str, **how: Any) -> list[str]:
    response = await memory.search_memory(**{**USER, **how}, query=query)
    return [entry.content.parts[0].text for entry in response.memories]


class Counting(HashingEmbedder):
    """Says how many texts each call had."""

    def __init__(self, dimension: int = 64, *, batch: int = 4) -> None:
        super().__init__(dimension, batch=batch)
        self.calls: list[int] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls.append(len(texts))
        return await super().embed(texts)


@pytest.mark.parametrize("few", [2000, 1])
def test_a_word_in_another_form_is_found(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "FEW", few)

    async def main() -> None:
        texts = ["planting strawberries", "a letter from Rome", "the gearbox is broken"]
        async with SqliteMemoryService(":memory:", embedder=HashingEmbedder()) as memory:
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


def test_texts_are_embedded_in_batches_and_once() -> None:
    async def main() -> None:
        embedder = Counting()
        async with SqliteMemoryService(":memory:", embedder=embedder) as memory:
            one = session(*(f"text {number}" for number in range(10)))
            await memory.add_session_to_memory(one)
            assert embedder.calls == [4, 4, 2]
            await memory.add_session_to_memory(one)
            await memory.add_events_to_memory(**USER, events=one.events, session_id="s1")
            assert embedder.calls == [4, 4, 2]

    asyncio.run(main())


def test_another_embedder_is_refused_until_reindex_converts(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "memory.db"
        async with SqliteMemoryService(path) as memory:
            await memory.add_session_to_memory(session("planting strawberries", "the gearbox is broken"))
            with pytest.raises(ConfigurationError, match="open the memory with an embedder"):
                await memory.reindex()
        for dimension in (64, 128):
            async with SqliteMemoryService(path, embedder=HashingEmbedder(dimension)) as memory:
                for call in (found(memory, "gearbox"), memory.add_session_to_memory(session("x", id="s2"))):
                    with pytest.raises(EmbedderMismatchError, match="reindex"):
                        await call
                assert await memory.reindex() == 2
                assert (await found(memory, "strawberry"))[0] == "planting strawberries"
        async with SqliteMemoryService(path) as memory:
            with pytest.raises(EmbedderMismatchError, match=r"'hashing-128' \(128\), not of none"):
                await found(memory, "gearbox")
            assert await memory.forget_session(**USER, session_id="s1") == 2  # to forget needs no embedder
        async with SqliteMemoryService(path, embedder=HashingEmbedder(128)) as memory:
            assert await found(memory, "strawberry") == []

    asyncio.run(main())


def test_a_conversion_that_breaks_off_changes_nothing(tmp_path: Path) -> None:
    class Breaking(Counting):
        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            if len(self.calls) == 1:
                raise OSError("no network")
            return await super().embed(texts)

    async def main() -> None:
        path = tmp_path / "memory.db"
        async with SqliteMemoryService(path, embedder=HashingEmbedder()) as memory:
            await memory.add_session_to_memory(session(*(f"strawberry {number}" for number in range(9))))
        async with SqliteMemoryService(path, embedder=Breaking()) as other:
            with pytest.raises(OSError, match="no network"):
                await other.reindex()
        async with SqliteMemoryService(path, embedder=HashingEmbedder()) as memory:
            assert len(await found(memory, "strawberries")) == 9
            await memory.add_session_to_memory(session("forgotten", id="s2"))
            assert await memory.delete_memories(**USER, ids=[*map(str, range(1500)), "s1-0", "s2-0"]) == 2
            left = "SELECT group_concat(number) FROM vectors_2"
            assert memory._file.read(lambda db: db.execute(left).fetchone()) == ("2,3,4",)
            await memory.add_session_to_memory(session("strawberry 0", id="s2"))
        async with SqliteMemoryService(path, embedder=Counting()) as other:
            assert await other.reindex() == 9
            assert len(await found(other, "strawberries")) == 9

    asyncio.run(main())


@pytest.mark.parametrize(
    "made",
    [[[1.0] * 8, [1.0] * 8], [[1.0] * 7], [[float("nan")] * 8], [[1e300] * 8]],
    ids=["two", "short", "nan", "big"],
)
def test_vectors_that_are_none_are_refused_whole(made: list[list[float]]) -> None:
    class Wrong(HashingEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return made

    async def main() -> None:
        async with SqliteMemoryService(":memory:", embedder=Wrong(8)) as memory:
            with pytest.raises(MemoryStoreError, match="hashing-8"):
                await memory.add_session_to_memory(session("hello"))
            assert memory._file.read(lambda db: db.execute("SELECT count(*) FROM entries").fetchone()) == (0,)

    asyncio.run(main())
    with pytest.raises(ConfigurationError, match="multiple of 8"):
        SqliteMemoryService(":memory:", embedder=HashingEmbedder(12))


def test_no_driver_is_imported_before_its_service_is_made() -> None:
    program = (
        "import sys; from newel_compose import compose; import newel.memory; from newel.memory.kinds import "
        "MemoryBackend; composed = compose('standard'); bad = {'pysqlite3', 'sqlite_vec'} & set(sys.modules); "
        "assert not bad, bad; composed.open_service(MemoryBackend, 'sqlite::memory:'); "
        "assert 'sqlite_vec' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_real_model_finds_paraphrases_first() -> None:
    async def main() -> None:
        model = MiniLm()
        turns = [turn for turn, _ in PARAPHRASES] + filler(160)
        async with SqliteMemoryService(":memory:", embedder=model) as memory:
            await memory.add_session_to_memory(session(*turns))
            right = [(await found(memory, question, limit=1)) == [turn] for turn, question in PARAPHRASES]
            assert sum(right) >= 0.8 * len(PARAPHRASES)

    asyncio.run(main())


class Embedders:
    """A plugin with two embedders, one of which is none."""

    @hookimpl
    def register_embedders(self) -> list[EmbedderFactory]:
        return [
            EmbedderFactory(name="hashing", create=lambda: HashingEmbedder(64)),
            EmbedderFactory(name="none", create=lambda: "no embedder"),
        ]


def test_a_uri_names_an_embedder_of_a_plugin(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/memory.db?embedder="
    composed = compose("adk", plugins=[Embedders()])

    async def main() -> None:
        opened = composed.open_service(MemoryBackend, f"{uri}hashing")
        assert isinstance(opened, SqliteMemoryService)
        async with opened:
            await opened.add_session_to_memory(session("planting strawberries", "a letter from Rome"))
            assert await found(opened, "strawberry", limit=1) == ["planting strawberries"]
        async with SqliteMemoryService(tmp_path / "memory.db") as plain:
            with pytest.raises(EmbedderMismatchError):
                await found(plain, "strawberry")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hashin", "no plugin provides the embedder factory 'hashin'; did you mean 'hashing'"),
        ("none", "str is no Embedder"),
        ("", "no plugin provides the embedder factory ''"),
    ],
)
def test_an_embedder_that_is_none_leaves_no_file(tmp_path: Path, name: str, message: str) -> None:
    composed = compose("adk", plugins=[Embedders()])
    with pytest.raises(ConfigurationError, match=message):
        composed.open_service(MemoryBackend, f"sqlite:///{tmp_path}/memory.db?embedder={name}")
    assert list(tmp_path.iterdir()) == []
