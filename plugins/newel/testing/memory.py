"""memory_conformance: checks that a memory service does what newel needs of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

from newel.memory.base_memory_service import BaseMemoryService
from newel.memory.memory_entry import MemoryEntry
from newel.testing.interruptions import cancelled_at_each_await
from newel.testing.sessions.place import same, text_event
from newel.testing.store_checks import StorePlace, in_places, run_all
from newel_kernel import Event, EventActions, Session
from newel_types import Content, Part

MakeMemory: TypeAlias = Callable[[], BaseMemoryService]
MemoryPlace: TypeAlias = StorePlace[BaseMemoryService]

_NAMES = ("'; DROP TABLE memories; --", "%", "_", "a\x00b", "é😀", "../..", "A", "a", "ab", "x" * 800)
_QUERIES = (
    "",
    " ",
    '"',
    "'",
    "*",
    "%",
    "AND OR NOT NEAR(",
    "a:b",
    "(",
    "\\",
    "\x00",
    "😀",
    "x" * 20_000,
    "-lighthouse",
)


def _session(place: MemoryPlace, *events: Event, session_id: str = "s", user_id: str = "u", app: str = "") -> Session:
    return Session(id=session_id, app_name=app or place.app, user_id=user_id, events=list(events))


async def _found(
    memory: BaseMemoryService, place: MemoryPlace, query: str, user_id: str = "u", app: str = ""
) -> list[MemoryEntry]:
    response = await memory.search_memory(app_name=app or place.app, user_id=user_id, query=query)
    return response.memories


def _texts(entries: Sequence[MemoryEntry]) -> list[str]:
    return sorted(part.text or "" for entry in entries for part in entry.content.parts or ())


async def what_was_said_is_found(place: MemoryPlace) -> None:
    """By its words, whatever their case, with its author and the time at which it was said."""
    memory = place.service()
    events = (
        text_event("The lighthouse keeper is called Zoë.", author="user", timestamp=86_400.0),
        text_event("Noted.", author="clerk", timestamp=86_401.0),
    )
    await memory.add_session_to_memory(_session(place, *events))
    for query in ("lighthouse", "LIGHTHOUSE keeper", "zoë"):
        found = [entry for entry in await _found(memory, place, query) if "lighthouse" in _texts([entry])[0]]
        same(len(found), 1)
        same((_texts(found), found[0].author), (["The lighthouse keeper is called Zoë."], "user"))
        assert (found[0].timestamp or "").startswith(("1970-01-02", "1970-01-01T", "1970-01-03")), (
            f"{found[0].timestamp!r} is not the time of the event, ISO 8601"
        )


async def memories_are_one_users(place: MemoryPlace) -> None:
    """Of one user in one app; ids and names are data."""
    memory = place.service()
    owners = [(name, place.app) for name in _NAMES] + [("a", f"{place.app}-2"), ("a", f"{place.app}%")]
    for number, (user, app) in enumerate(owners):
        event = text_event(f"harbour number{number}", id=f"e{number}")
        await memory.add_session_to_memory(_session(place, event, user_id=user, app=app))
    for number, (user, app) in enumerate(owners):
        same(_texts(await _found(memory, place, "harbour", user, app)), [f"harbour number{number}"])
    same(await _found(memory, place, "harbour", "nobody"), [])


async def every_session_of_the_user_is_searched(place: MemoryPlace) -> None:
    """Also events that have one id in two sessions."""
    memory = place.service()
    for name in ("1", "2", "3"):
        await memory.add_session_to_memory(_session(place, text_event(f"harbour {name}", id="e"), session_id=name))
    same(_texts(await _found(memory, place, "harbour")), ["harbour 1", "harbour 2", "harbour 3"])


async def adding_again_adds_what_is_new(place: MemoryPlace) -> None:
    """A session that has grown is added as often as one likes: nothing is there twice, nothing is lost."""
    memory = place.service()
    events = [text_event(f"harbour {number}", id=f"e{number}") for number in range(4)]
    for known in (1, 3, 3, 4):
        await memory.add_session_to_memory(_session(place, *events[:known]))
        same(_texts(await _found(memory, place, "harbour")), [f"harbour {number}" for number in range(known)])


async def events_without_words_are_no_memories(place: MemoryPlace) -> None:
    """An event without content, without parts or with a change of state alone is passed over."""
    memory = place.service()
    empty = Content(role="model", parts=[])
    events = (
        Event(author="a"),
        Event(author="a", content=empty),
        Event(author="a", actions=EventActions(state_delta={"harbour": 1})),
        text_event("harbour"),
    )
    await memory.add_session_to_memory(_session(place))
    await memory.add_session_to_memory(_session(place, *events))
    same(_texts(await _found(memory, place, "harbour")), ["harbour"])


async def a_content_comes_back_whole(place: MemoryPlace) -> None:
    """With its role and all its parts, in their order."""
    memory = place.service()
    parts = [{"text": "a harbour"}, {"fileData": {"fileUri": "gs://b/map.png", "mimeType": "image/png"}}]
    content = Content.model_validate({"role": "model", "parts": [*parts, {"text": "with ships"}]})
    await memory.add_session_to_memory(_session(place, Event(author="clerk", content=content)))
    found = await _found(memory, place, "harbour")
    same([entry.content.model_dump(mode="json") for entry in found], [content.model_dump(mode="json")])


async def what_is_remembered_is_nobodys(place: MemoryPlace) -> None:
    """Changing what was found, or what was added, changes no memory; adding changes no session."""
    memory = place.service()
    content = Content(role="user", parts=[Part(text="harbour")])
    session = _session(place, Event(author="user", content=content))
    before = [event.model_dump(mode="json") for event in session.events]
    await memory.add_session_to_memory(session)
    same([event.model_dump(mode="json") for event in session.events], before)
    content.parts = [Part(text="changed harbour")]
    (entry,) = await _found(memory, place, "harbour")
    entry.content.parts = [Part(text="changed harbour")]
    entry.custom_metadata["harbour"] = 1
    (again,) = await _found(memory, place, "harbour")
    same((_texts([again]), again.custom_metadata), (["harbour"], {}))


async def a_query_is_data(place: MemoryPlace) -> None:
    """Quotes, operators, nothing, a very long one: a search has an answer, and the memories stay."""
    memory = place.service()
    await memory.add_session_to_memory(_session(place, text_event("the lighthouse")))
    for query in _QUERIES:
        for entry in await _found(memory, place, query):
            assert isinstance(entry, MemoryEntry), f"{query!r:.40} finds {entry!r:.100}, not a MemoryEntry"
        same(await _found(memory, place, query, "nobody"), [])
    same(_texts(await _found(memory, place, "lighthouse")), ["the lighthouse"])


async def many_tasks_remember(place: MemoryPlace) -> None:
    """Sessions that are added at once are all there, each once, and searches meanwhile have an answer."""
    memory = place.service()

    async def go(number: int) -> None:
        for _ in range(2):
            event = text_event(f"harbour {number}", id=f"e{number}")
            await memory.add_session_to_memory(_session(place, event, session_id=f"{number}"))
            await _found(memory, place, "harbour")

    await asyncio.gather(*map(go, range(8)))
    same(_texts(await _found(memory, place, "harbour")), [f"harbour {number}" for number in range(8)])


async def a_cancelled_addition_can_be_made_again(place: MemoryPlace) -> None:
    """Wherever the cancellation came: then everything is there, once."""
    memory = place.service()
    numbers = count()

    def add(number: int) -> Coroutine[Any, Any, None]:
        events = [text_event(f"pier{number} harbour {n}", id=f"e{number}.{n}") for n in range(3)]
        return memory.add_session_to_memory(_session(place, *events, session_id=f"{number}"))

    number = -1

    def next_one() -> Coroutine[Any, Any, None]:
        nonlocal number
        number = next(numbers)
        return add(number)

    async for task in cancelled_at_each_await(next_one):
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
        await add(number)
        same(_texts(await _found(memory, place, f"pier{number}")), [f"pier{number} harbour {n}" for n in range(3)])


async def single_events_are_added_once(place: MemoryPlace) -> None:
    """If the service can: to what is known of their session, with their metadata."""
    memory = place.service()
    where: dict[str, Any] = {"app_name": place.app, "user_id": "u", "session_id": "s"}
    events = [text_event(f"harbour {number}", id=f"e{number}") for number in range(2)]
    try:
        await memory.add_events_to_memory(**where, events=events[:1], custom_metadata={"by": "ann"})
    except NotImplementedError:
        return
    await memory.add_events_to_memory(**where, events=events)
    found = await _found(memory, place, "harbour")
    same(_texts(found), ["harbour 0", "harbour 1"])
    same({_texts([one])[0]: one.custom_metadata for one in found}, {"harbour 0": {"by": "ann"}, "harbour 1": {}})


async def given_entries_are_kept(place: MemoryPlace) -> None:
    """If the service can: with their author, time and metadata; one with a known id replaces it."""
    memory = place.service()
    where: dict[str, Any] = {"app_name": place.app, "user_id": "u"}

    def entry(text: str) -> MemoryEntry:
        content = Content(role="user", parts=[Part(text=text)])
        time = "2026-01-02T03:04:05"
        return MemoryEntry(content=content, id="m", author="ann", timestamp=time, custom_metadata={"own": 1})

    try:
        await memory.add_memory(**where, memories=[entry("old harbour")], custom_metadata={"all": 2, "own": 2})
    except NotImplementedError:
        return
    await memory.add_memory(**where, memories=[entry("new harbour")], custom_metadata={"all": 2, "own": 2})
    (found,) = await _found(memory, place, "harbour")
    same((_texts([found]), found.author, found.custom_metadata), (["new harbour"], "ann", {"all": 2, "own": 1}))
    assert (found.timestamp or "").startswith("2026-01-0"), f"{found.timestamp!r} is not the entry's time"


async def a_new_service_remembers(place: MemoryPlace) -> None:
    """What was added before a restart is found after it, by a service that was open meanwhile too."""
    one, two = place.service(), place.service()
    await one.add_session_to_memory(_session(place, text_event("harbour")))
    for memory in (two, place.service()):
        same(_texts(await _found(memory, place, "harbour")), ["harbour"])


MEMORY_CHECKS = {
    check.__name__: check
    for check in (
        what_was_said_is_found,
        memories_are_one_users,
        every_session_of_the_user_is_searched,
        adding_again_adds_what_is_new,
        events_without_words_are_no_memories,
        a_content_comes_back_whole,
        what_is_remembered_is_nobodys,
        a_query_is_data,
        many_tasks_remember,
        a_cancelled_addition_can_be_made_again,
        single_events_are_added_once,
        given_entries_are_kept,
    )
}
SHARED_CHECKS = {a_new_service_remembers.__name__: a_new_service_remembers}


def memory_checks(make: MakeMemory, *, shared: bool = True) -> Mapping[str, Callable[[], None]]:
    """The checks of a memory service by name: each is called without arguments; AssertionError if it fails.

    `make` makes a service. All services share one place, in which each check has its own app. If they do not (`shared`
    is False), what needs two of them is left out.
    """
    return in_places({**MEMORY_CHECKS, **(SHARED_CHECKS if shared else {})}, make)


def memory_conformance(make: MakeMemory, *, shared: bool = True) -> None:
    """Run every check of `memory_checks`; one AssertionError names all that fail."""
    run_all(memory_checks(make, shared=shared), "memory service")
