"""InMemoryMemoryService: what was said is found again by its words."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from newel.memory import InMemoryMemoryService, MemoryEntry, MemoryFilter, SearchMemoryResponse, SqliteMemoryService
from newel.memory.base_memory_service import BaseMemoryService
from newel.memory.kinds import MemoryBackend
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, Session
from newel_types import Content, Part

USER: dict[str, Any] = {"app_name": "desk", "user_id": "ada"}


def session(*texts: str, id: str = "s1", **where: str) -> Session:
    authors = ("user", "clerk")
    events = [Event(author=authors[i % 2], message=text, timestamp=10.0 + i) for i, text in enumerate(texts)]
    return Session(id=id, **{**USER, **where}, events=events)


async def found(memory: BaseMemoryService, query: str, **where: str) -> list[str]:
    response = await memory.search_memory(**{**USER, **where}, query=query)
    return [entry.content.parts[0].text for entry in response.memories]


def test_one_shared_word_is_enough() -> None:
    async def main() -> None:
        memory = InMemoryMemoryService()
        await memory.add_session_to_memory(session("My favourite colour is blue.", "Noted!", "Grüße 2024"))
        assert await found(memory, "which COLOUR?") == ["My favourite colour is blue."]
        assert await found(memory, "noted blue") == ["My favourite colour is blue.", "Noted!"]
        assert await found(memory, "grüße") == ["Grüße 2024"]
        assert await found(memory, "2024") == ["Grüße 2024"]
        assert await found(memory, "green") == []
        assert await found(memory, "") == []

    asyncio.run(main())


def test_an_entry_says_who_and_when() -> None:
    async def main() -> None:
        memory = InMemoryMemoryService()
        await memory.add_session_to_memory(session("hello"))
        (entry,) = (await memory.search_memory(**USER, query="hello")).memories
        assert entry.author == "user"
        assert entry.timestamp is not None
        assert "T" in entry.timestamp
        entry.content.parts[0].text = "changed"
        assert await found(memory, "hello") == ["hello"]

    asyncio.run(main())


def test_users_and_apps_do_not_mix() -> None:
    async def main() -> None:
        memory = InMemoryMemoryService()
        await memory.add_session_to_memory(session("hello"))
        assert await found(memory, "hello", user_id="bob") == []
        assert await found(memory, "hello", app_name="shop") == []

    asyncio.run(main())


def test_a_session_that_is_added_again_replaces_itself() -> None:
    async def main() -> None:
        memory = InMemoryMemoryService()
        await memory.add_session_to_memory(session("hello one"))
        await memory.add_session_to_memory(session("hello two"))
        await memory.add_session_to_memory(session("hello three", id="s2"))
        assert await found(memory, "hello") == ["hello two", "hello three"]

    asyncio.run(main())


def test_events_and_entries_add_up() -> None:
    async def main() -> None:
        memory = InMemoryMemoryService()
        events = session("hello one", "hello two").events
        await memory.add_events_to_memory(**USER, events=events[:1], session_id="s1", custom_metadata={"k": 1})
        await memory.add_events_to_memory(**USER, events=[*events, Event(author="user")], session_id="s1")
        assert await found(memory, "hello") == ["hello one", "hello two"]
        entry = MemoryEntry(id="m", content=Content(parts=[Part(text="hello three")]), custom_metadata={"a": 1})
        await memory.add_memory(**USER, memories=[entry, entry], custom_metadata={"b": 2})
        response = await memory.search_memory(**USER, query="three")
        assert isinstance(response, SearchMemoryResponse)
        assert [one.custom_metadata for one in response.memories] == [{"a": 1, "b": 2}]

    asyncio.run(main())


def test_the_store_opens_from_an_address() -> None:
    assert isinstance(compose("adk").open_service(MemoryBackend, "memory:"), InMemoryMemoryService)


def test_an_entry_needs_a_content() -> None:
    with pytest.raises(ValueError, match="content"):
        MemoryEntry(author="x")  # type: ignore[call-arg]


def test_a_filter_narrows_and_a_limit_bounds() -> None:
    async def main() -> None:
        memory = InMemoryMemoryService()
        await memory.add_session_to_memory(session("hello one", "hello two", "hello one more"))
        await memory.add_session_to_memory(session("hello three", id="s2"))
        entry = MemoryEntry(content=Content(parts=[Part(text="hello tagged")]), timestamp="2024-05-01T10:00:00+00:00")
        await memory.add_memory(**USER, memories=[entry], custom_metadata={"kind": "fact", "n": 1, "sure": True})

        async def got(query: str = "hello", limit: int | None = None, **chosen: Any) -> list[str]:
            response = await memory.search_memory(
                **USER, query=query, limit=limit, filter=MemoryFilter(**chosen) if chosen else None
            )
            return [one.content.parts[0].text for one in response.memories]

        assert await got(session_id="s2") == ["hello three"]
        assert await got(metadata={"kind": "fact", "n": 1.0, "sure": True}) == ["hello tagged"]
        for other in ({"sure": False}, {"n": "1"}, {"n": True}, {"kind": "fact", "x": 1}):
            assert await got(metadata=other) == []
        assert await got(since="2024-05-01T12:00:00+02:00", until="2024-05-01T10:00:00Z") == ["hello tagged"]
        assert await got("hello one", limit=2) == ["hello one more", "hello one"]
        assert await got(limit=1) == ["hello tagged"]
        assert len(await got(limit=1000)) == len(await got()) == 5
        for limit in (0, 1001):
            with pytest.raises(ConfigurationError, match="1 to 1000"):
                await got(limit=limit)

    asyncio.run(main())


TEXTS = [
    "私はPythonでADKを使っています",
    "제 이름은 민수입니다",
    "Das Café in München",
    "我叫小明",
    "ฉันชอบกาแฟ",
    "Он пил чай й",
    "naïve snake_case foo-bar v2.0",
    "ГЕРМАНИЯ Ünïcödé",
]


def test_it_finds_what_the_memory_in_a_file_finds(tmp_path: Path) -> None:
    queries = ["Python", "使って", "用", "민수", "이름", "cafe", "CAFÉ", "小明", "小", "กาแฟ", "и", "й", "naive", "foo"]
    queries += ["case", "snake_case", "v2", "германия", "unicode", "München", "munchen", "ADK", "nothing", ""]
    queries += sorted({word[at : at + 3] for text in TEXTS for word in text.split() for at in range(len(word))})

    async def main() -> None:
        memories: list[BaseMemoryService] = [InMemoryMemoryService(), SqliteMemoryService(tmp_path / "m.db")]
        for memory in memories:
            await memory.add_session_to_memory(session(*TEXTS))
        for query in queries:
            plain, stored = [sorted(await found(memory, query)) for memory in memories]
            assert plain == stored, query
        assert await found(memories[0], "使って") == [TEXTS[0]]

    asyncio.run(main())
