"""SqliteMemoryService: memory in a file, found by words."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.memory import MemoryEntry, MemoryFilter, MemoryStoreError, MemoryUnavailableError, SqliteMemoryService
from newel.memory.kinds import MemoryBackend
from newel.memory.sqlite import file as memory_file
from newel.memory.sqlite.binding import binding
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, Session
from newel_types import Content, Part

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


def test_the_entry_with_the_rarest_words_comes_first() -> None:
    async def main() -> None:
        texts = ["I like tea.", "Noted: you like tea.", "My favourite tea is oolong, said Zoë.", "Grüße 2024"]
        async with remembering(session(*texts)) as memory:
            assert (await found(memory, "which TEA is my favourite?"))[0] == texts[2]
            assert len(await found(memory, "tea")) == 3
            assert await found(memory, "zoe") == [texts[2]]
            assert await found(memory, "grusse grüsse grusze gruße") == [texts[3]]
            assert await found(memory, "2024") == [texts[3]]
            assert await found(memory, "coffee") == []
            assert await found(memory, "") == []
            assert await found(memory, "tea", limit=1) == (await found(memory, "tea"))[:1]

    asyncio.run(main())


def test_an_entry_says_where_it_is_from_and_how_well_it_fits() -> None:
    async def main() -> None:
        long = "lorem ipsum " * 60 + "the secret ingredient is cardamom " + "dolor sit " * 60
        async with remembering(session("hello", long)) as memory:
            (entry,) = (await memory.search_memory(**USER, query="secret cardamom")).memories
            assert (entry.session_id, entry.event_id, entry.author) == ("s1", "s1-1", "clerk")
            assert entry.timestamp == datetime.fromtimestamp(11.0).isoformat()
            assert entry.score is not None
            assert entry.score > 0
            assert entry.snippet is not None
            assert "secret ingredient is cardamom" in entry.snippet
            assert entry.snippet.startswith("…")
            assert len(entry.snippet) < 210

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我最喜欢的颜色是蓝色", "颜色"),
        ("我最喜欢的颜色是蓝色", "你喜欢什么"),
        ("我最喜欢的颜色是蓝色", "色"),
        ("東京タワーで会いましょう", "タワー"),
        ("来年は京都へ行く", "京都に行きたい"),
        ("서울에서 만나요", "서울"),
        ("ฉันชอบสีน้ำเงิน", "ชอบ"),
        ("मुझे नीला रंग पसंद है", "नीला"),
        ("The meeting is at 東京駅.", "東京"),
        ("ＦＵＬＬ width", "full"),
        ("Москва слезам не верит", "москва"),
    ],
)
def test_languages_without_blanks_are_searched_by_runs_of_letters(text: str, query: str) -> None:
    async def main() -> None:
        other = session("完全に別の話", "something else", "нечто иное", "อื่น ๆ", "कुछ और", id="s2")
        async with remembering(session(text), other) as memory:
            assert (await found(memory, query))[:1] == [text]

    asyncio.run(main())


def test_nothing_of_another_user_or_app_is_ever_found() -> None:
    async def main() -> None:
        users = [
            ("desk", "ada"),
            ("desk", "ad"),
            ("desk", "1"),
            ("des", "kada"),
            ("desk", "a%"),
            ("DESK", "ada"),
            ("desk", ""),
        ]
        async with remembering() as memory:
            for app, user in users:
                await memory.add_session_to_memory(session(f"hello {app} {user} end 東京", app_name=app, user_id=user))
            for app, user in users:
                for query in ("hello", "end", "ada", '" OR hello *', "東", "京", "1hello", "2\ue000hello"):
                    for text in await found(memory, query, app_name=app, user_id=user):
                        assert text == f"hello {app} {user} end 東京"
                assert await memory.forget_user(app_name=app, user_id=user) == 1
                assert await found(memory, "hello", app_name=app, user_id=user) == []

    asyncio.run(main())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.text(max_size=30)), max_size=8), st.text(max_size=30))
def test_any_text_may_be_kept_and_asked(said: list[tuple[str, str]], query: str) -> None:
    async def main() -> None:
        async with remembering() as memory:
            for number, (user, text) in enumerate(said):
                one = session(text, id=str(number), user_id=user)
                try:
                    await memory.add_session_to_memory(one)
                except MemoryStoreError as error:
                    assert "surrogates" in str(error)  # noqa: PT017
            for user in "abc":
                own = [text for whose, text in said if whose == user]
                for entry in await found(memory, query, user_id=user):
                    assert entry in own
                for text in own:
                    word = "".join(c for c in text.split(" ")[0] if c.isascii() and c.isalnum())
                    if word and word == text:
                        assert text in await found(memory, word, user_id=user)

    asyncio.run(main())


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


def test_entries_are_replaced_by_their_ids_and_deleted() -> None:
    async def main() -> None:
        async with remembering(session("hello one")) as memory:
            entry = MemoryEntry(
                id="m",
                content=Content(parts=[Part(text="hello three")]),
                custom_metadata={"a": 1},
                timestamp="yesterday",
            )
            changed = entry.model_copy(update={"content": Content(parts=[Part(text="hello four")])})
            await memory.add_memory(**USER, memories=[entry], custom_metadata={"b": 2})
            await memory.add_memory(**USER, memories=[changed, changed], custom_metadata={"b": 2})
            (four,) = (await memory.search_memory(**USER, query="four three")).memories
            assert (four.id, four.custom_metadata, four.timestamp) == ("m", {"a": 1, "b": 2}, "yesterday")
            assert (four.session_id, four.event_id) == (None, None)
            assert await memory.delete_memories(**USER, ids=["m", "x"]) == 1
            assert await memory.delete_memories(app_name="desk", user_id="bob", ids=["s1-0"]) == 0
            assert await found(memory, "hello") == ["hello one"]

    asyncio.run(main())


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


def test_a_filter_narrows_and_a_limit_bounds() -> None:
    async def main() -> None:
        async with remembering(session("hello one", "hello two"), session("hello three", id="s2")) as memory:
            entry = MemoryEntry(
                content=Content(parts=[Part(text="hello tagged")]), timestamp="2024-05-01T10:00:00+00:00"
            )
            await memory.add_memory(**USER, memories=[entry], custom_metadata={"kind": "fact", "n": 1, "sure": True})

            async def got(**chosen: Any) -> list[str]:
                return await found(memory, "hello", filter=MemoryFilter(**chosen))

            assert await got(session_id="s2") == ["hello three"]
            assert await got(author="clerk") == ["hello two"]
            assert await got(metadata={"kind": "fact", "n": 1, "sure": True}) == ["hello tagged"]
            assert await got(metadata={"sure": False}) == await got(metadata={"n": "1"}) == []
            assert await got(metadata={"n": True}) == []
            assert await got(since="2024-05-01T12:00:00+02:00", until="2024-05-01T10:00:00Z") == ["hello tagged"]
            assert len(await got(until=datetime.fromtimestamp(11.0))) == 3
            for limit in (0, -1, 1001):
                with pytest.raises(ConfigurationError, match="1 to 1000"):
                    await found(memory, "hello", limit=limit)

    asyncio.run(main())
    with pytest.raises(ValueError, match="sesion"):
        MemoryFilter(sesion="x")  # type: ignore[call-arg]


def test_common_words_are_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("newel.memory.sqlite.ranking._COMMON", 3)

    async def main() -> None:
        texts = [f"hello common {number}" for number in range(6)]
        async with remembering(session(*texts, "hello rare")) as memory:
            assert (await found(memory, "hello common rare"))[0] == "hello rare"
            assert (await found(memory, "hello common"))[:2] == ["hello common 5", "hello common 4"]
            assert len(await found(memory, "hello common")) == 7

    asyncio.run(main())


def test_what_cannot_be_kept_is_refused_whole() -> None:
    async def main() -> None:
        async with remembering(session("hello")) as memory:
            bad = [*session("fine here", id="s2").events, Event(author="user", message="a\ud800")]
            with pytest.raises(MemoryStoreError, match="nothing was written"):
                await memory.add_events_to_memory(**USER, events=bad, session_id="s2")
            for metadata in ({"x": float("nan")}, {"x": object()}):
                with pytest.raises(MemoryStoreError, match="metadata"):
                    await memory.add_events_to_memory(**USER, events=bad[:1], custom_metadata=metadata)
            with pytest.raises(MemoryStoreError, match="valid text"):
                await memory.add_session_to_memory(session("hello", user_id="a\ud800"))
            with pytest.raises(MemoryStoreError, match="valid text"):
                await found(memory, "hello", user_id="a\ud800")
            assert await found(memory, "fine") == []
            await memory.add_session_to_memory(session("nul \0 here", id="s\0", user_id="x'; DROP TABLE entries;--"))
            assert await found(memory, "here \ud800", user_id="x'; DROP TABLE entries;--") == ["nul \0 here"]

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


def test_questions_with_a_rare_word_find_their_turn_first() -> None:
    async def main() -> None:
        chance = random.Random(7)
        usual = [f"{a}{b}" for a in ("ta", "ko", "mi", "re", "su", "lo") for b in ("ra", "ni", "ven", "dor", "pel")]
        turns = [" ".join([*chance.choices(usual, k=15), f"rare{number}"]) for number in range(2000)]
        async with remembering(session(*turns)) as memory:
            right = 0
            for number in chance.sample(range(2000), 200):
                question = " ".join([*chance.choices(usual, k=6), f"RARE{number}?"])
                right += (await found(memory, question, limit=1)) == [turns[number]]
            assert right >= 190

    asyncio.run(main())


def test_the_store_opens_from_an_address(tmp_path: Path) -> None:
    opened = compose("adk").open_service(MemoryBackend, f"sqlite:///{tmp_path}/memory.db")
    assert isinstance(opened, SqliteMemoryService)
    asyncio.run(opened.close())
    with pytest.raises(MemoryStoreError, match="closed"):
        asyncio.run(found(opened, "x"))
