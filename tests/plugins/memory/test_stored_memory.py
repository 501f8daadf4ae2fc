"""What every memory that is stored does: in an SQLite file, and in PostgreSQL."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.memory import (
    InMemoryMemoryService,
    MemoryEntry,
    MemoryFilter,
    MemoryStoreError,
    SqliteMemoryService,
)
from newel_kernel import ConfigurationError, Event, Session
from newel_postgres import PostgresMemoryService
from newel_types import Content, Part

USER: dict[str, Any] = {"app_name": "desk", "user_id": "ada"}
Memory: TypeAlias = SqliteMemoryService | PostgresMemoryService
Remembering: TypeAlias = Callable[..., AbstractAsyncContextManager[Memory]]
_apps = count(1)


def session(*texts: str, id: str = "s1", **where: str) -> Session:
    authors = ("user", "clerk")
    events = [
        Event(id=f"{id}-{i}", author=authors[i % 2], message=text, timestamp=10.0 + i) for i, text in enumerate(texts)
    ]
    return Session(id=id, **{**USER, **where}, events=events)


async def found(memory: Memory, query: str, **how: Any) -> list[str]:
    response = await memory.search_memory(**{**USER, **how}, query=query)
    return [entry.content.parts[0].text for entry in response.memories]


@pytest.fixture(params=["sqlite", "postgres"])
def remembering(request: pytest.FixtureRequest) -> Remembering:
    """Opens a memory with sessions; what `with` ends, the next one finds again in PostgreSQL only."""
    url = request.getfixturevalue("postgres")() if request.param == "postgres" else ""

    @asynccontextmanager
    async def remembering(*sessions: Session) -> AsyncIterator[Memory]:
        async with PostgresMemoryService(url) if url else SqliteMemoryService(":memory:") as memory:
            for one in sessions:
                await memory.add_session_to_memory(one)
            yield memory

    return remembering


def test_the_entry_with_the_rarest_words_comes_first(remembering: Remembering) -> None:
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


def test_an_entry_says_where_it_is_from_and_how_well_it_fits(remembering: Remembering) -> None:
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
def test_languages_without_blanks_are_searched_by_runs_of_letters(
    text: str, query: str, remembering: Remembering
) -> None:
    async def main() -> None:
        other = session("完全に別の話", "something else", "нечто иное", "อื่น ๆ", "कुछ और", id="s2")
        async with remembering(session(text), other) as memory:
            assert (await found(memory, query))[:1] == [text]

    asyncio.run(main())


def test_nothing_of_another_user_or_app_is_ever_found(remembering: Remembering) -> None:
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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("abc"), st.text(max_size=30)), max_size=8), st.text(max_size=30))
def test_any_text_may_be_kept_and_asked(remembering: Remembering, said: list[tuple[str, str]], query: str) -> None:
    app = f"app {next(_apps)}"

    async def main() -> None:
        async with remembering() as memory:
            for number, (user, text) in enumerate(said):
                one = session(text, id=str(number), app_name=app, user_id=user)
                try:
                    await memory.add_session_to_memory(one)
                except MemoryStoreError as error:
                    assert "surrogates" in str(error)  # noqa: PT017
            for user in "abc":
                own = [text for whose, text in said if whose == user]
                for entry in await found(memory, query, app_name=app, user_id=user):
                    assert entry in own
                for text in own:
                    word = "".join(c for c in text.split(" ")[0] if c.isascii() and c.isalnum())
                    if word and word == text:
                        assert text in await found(memory, word, app_name=app, user_id=user)

    asyncio.run(main())


def test_entries_are_replaced_by_their_ids_and_deleted(remembering: Remembering) -> None:
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


def test_a_filter_narrows_and_a_limit_bounds(remembering: Remembering) -> None:
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
            for limit in (0, -1, 1001, "5", 2.5, None):
                with pytest.raises(ConfigurationError, match="1 to 1000"):
                    await found(memory, "hello", limit=limit)

    asyncio.run(main())
    with pytest.raises(ValueError, match="sesion"):
        MemoryFilter(sesion="x")  # type: ignore[call-arg]
    for zone in (None, UTC):
        times = {"since": datetime.min.replace(tzinfo=zone), "until": datetime.max.replace(tzinfo=zone)}
        try:
            assert MemoryFilter(**times).admits(session_id=None, author=None, at=0.0, metadata={})
        except ValueError as error:
            assert zone is None and "give it with a zone" in str(error)  # noqa: PT017, PT018 - as the time zone has it


@pytest.mark.parametrize("timestamp", [math.inf, math.nan, 1e300, -1e15])
def test_a_time_that_no_calendar_has_is_none(remembering: Remembering, timestamp: float) -> None:
    said = Session(id="s1", **USER, events=[Event(author="user", message="hello", timestamp=timestamp)])

    async def main() -> None:
        ephemeral = InMemoryMemoryService()
        await ephemeral.add_session_to_memory(said)
        async with remembering(said) as memory:
            for one in (memory, ephemeral):
                (entry,) = (await one.search_memory(**USER, query="hello")).memories
                assert entry.timestamp is None
            assert await found(memory, "hello", filter=MemoryFilter(since="1970-01-01T00:00:00Z")) == []

    asyncio.run(main())


def test_a_filter_may_name_any_value(remembering: Remembering) -> None:
    async def main() -> None:
        async with remembering() as memory:
            for n in (1, 2**70, -(2**63), 2**63, 1e300, 0.1):
                content = Content(parts=[Part(text=f"hello {n}")])
                await memory.add_memory(**USER, memories=[MemoryEntry(content=content, custom_metadata={"n": n})])

            async def got(value: Any) -> list[str]:
                return await found(memory, "hello", filter=MemoryFilter(metadata={"n": value}))

            for n in (1, 2**70, -(2**63), 2**63, 1e300, 0.1):
                assert await got(n) == [f"hello {n}"]
            for n in (10**400, -(2**80), "\ud800", "1", float("nan"), float("inf")):
                assert await got(n) == []

    asyncio.run(main())


def test_common_words_are_found_too(monkeypatch: pytest.MonkeyPatch, remembering: Remembering) -> None:
    monkeypatch.setattr("newel.memory.sqlite.ranking._COMMON", 3)
    monkeypatch.setattr("newel_postgres.memory.ranking._COMMON", 3)

    async def main() -> None:
        texts = [f"hello common {number}" for number in range(6)]
        async with remembering(session(*texts, "hello rare")) as memory:
            assert (await found(memory, "hello common rare"))[0] == "hello rare"
            assert (await found(memory, "hello common"))[:2] == ["hello common 5", "hello common 4"]
            assert len(await found(memory, "hello common")) == 7

    asyncio.run(main())


def test_what_cannot_be_kept_is_refused_whole(remembering: Remembering) -> None:
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


def test_questions_with_a_rare_word_find_their_turn_first(remembering: Remembering) -> None:
    async def main() -> None:
        chance = random.Random(7)
        usual = [f"{a}{b}" for a in ("ta", "ko", "mi", "re", "su", "lo") for b in ("ra", "ni", "ven", "dor", "pel")]
        turns = [" ".join([*chance.choices(usual, k=15), f"rare{number}"]) for number in range(2000)]
        async with remembering(session(*turns)) as memory:
            right = 0
            for number in chance.sample(range(2000), 50):
                question = " ".join([*chance.choices(usual, k=6), f"RARE{number}?"])
                right += (await found(memory, question, limit=1)) == [turns[number]]
            assert right >= 48

    asyncio.run(main())
