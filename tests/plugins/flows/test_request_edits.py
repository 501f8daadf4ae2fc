"""Whatever a callback or a model does to its request, the session and other requests stay as they were."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel import Agent, Event, Runner
from newel.models import BaseLlm
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.sessions.contract import SessionStore
from newel_compose import compose_once
from newel_kernel import LlmRequest, LlmResponse
from newel_types import Content, Part

Json = dict[Any, Any]


def nested(number: int) -> Json:
    return {"list": [number, {"deep": [number]}], "text": str(number)}


def exchange(number: int) -> list[list[Json]]:
    id_ = f"c{number}"
    return [
        [{"functionCall": {"id": id_, "name": "tool", "args": nested(number)}}],
        [{"functionResponse": {"id": id_, "name": "tool", "response": nested(number)}}],
    ]


#: What an agent said and what its tools answered, as the parts of one or two events.
SAID: dict[str, Callable[[int], list[list[Json]]]] = {
    "text": lambda n: [[{"text": f"line {n}"}]],
    "two texts": lambda n: [[{"text": f"line {n}"}, {"text": "and more"}]],
    "signed": lambda n: [[{"text": f"line {n}", "thoughtSignature": "c2lnbg=="}]],
    "thought": lambda n: [[{"text": "hm", "thought": True}, {"text": f"line {n}"}]],
    "blob": lambda n: [[{"inlineData": {"data": "AAEC", "mimeType": "image/png", "displayName": f"{n}.png"}}]],
    "file": lambda n: [[{"text": f"line {n}"}, {"fileData": {"fileUri": f"gs://a/{n}", "mimeType": "image/png"}}]],
    "metadata": lambda n: [[{"text": f"line {n}", "partMetadata": nested(n)}]],
    "unknown field": lambda n: [[{"text": f"line {n}", "novel": nested(n)}]],
    "call": exchange,
    "call with words": lambda n: [[{"text": "Let me see."}, *exchange(n)[0]], exchange(n)[1]],
}


def events_of(kinds: list[str]) -> list[Event]:
    events = []
    for number, kind in enumerate(kinds):
        for parts in ([{"text": f"question {number}"}], *SAID[kind](number)):
            role = "user" if "question" in str(parts) or "functionResponse" in parts[0] else "model"
            author = "user" if "question" in str(parts) else "clerk"
            content = {"role": role, "parts": parts}
            events.append(Event.model_validate({"invocationId": f"i{number}", "author": author, "content": content}))
    return events


#: How code comes by contents of a request.
READS: list[Callable[[list[Content]], list[Content]]] = [
    list,
    lambda contents: [contents[0], contents[-1]],
    lambda contents: contents[1:],
    lambda contents: [*reversed(contents)],
    lambda contents: [one for _, one in enumerate(contents)][:2],
    lambda contents: [next(iter(contents))],
    lambda contents: contents + [],  # noqa: RUF005
    copy.copy,
]


def fields(value: Any) -> Json:
    """What an object holds, by name; nothing for plain values."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return dict(enumerate(value))
    names: Any = getattr(value, "field_names", None) or getattr(type(value), "model_fields", ())
    return {name: getattr(value, name) for name in names} | (getattr(value, "_extra", None) or {})


def inside(value: Any) -> list[Any]:
    """All that holds something within a content, and the content itself."""
    below = [one for item in fields(value).values() for one in inside(item)]
    return [*below, value] if fields(value) else below


def deface(value: Any, random: Random) -> None:
    """Change an object in place."""
    name = random.choice([*fields(value)])
    changes: list[Callable[[], object]] = [value.clear, value.pop] if isinstance(value, list) else []
    if isinstance(value, dict):
        changes = [value.clear, lambda: value.pop(name), lambda: value.update(defaced=1)]
    if changes:
        random.choice(changes)()
    elif name in (getattr(value, "_extra", None) or {}):
        del value._extra[name]
    else:
        setattr(value, name, None)


def vandalise(request: LlmRequest, random: Random) -> None:
    contents = request.contents
    for content in random.choice(READS)(contents) if contents else ():
        for place in random.sample(places := inside(content), k=min(3, len(places))):
            if fields(place):  # what was changed before may have emptied it
                deface(place, random)
    changes: list[Callable[[], object]] = [contents.reverse, contents.clear, lambda: None]
    random.choice([*changes, lambda: contents.append(Content(role="user"))])()


def told(value: Any) -> Any:
    """What a value holds at every depth, whatever was put there."""
    if isinstance(value, list):
        return [told(item) for item in value]
    return {name: told(item) for name, item in fields(value).items()} if fields(value) else value


def dumped(contents: list[Content]) -> Any:
    return told(list.copy(contents))


class Vandal(BaseLlm):
    """Notes what it is asked, and changes it if it has a source of chance."""

    kept: list[tuple[LlmRequest, Any]]
    random: Any = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if self.random is not None:
            vandalise(llm_request, self.random)
        self.kept.append((llm_request, dumped(llm_request.contents)))
        yield LlmResponse(content=Content(role="model", parts=[Part(text="done")]))


async def turns(store: SessionStore, session: str, kinds: list[str], random: Random | None) -> tuple[Any, Any]:
    """What the model's callbacks are shown in three turns, and the events in the end."""
    model, shown = Vandal(model="vandal", random=random, kept=[]), []

    def before(callback_context: Any, llm_request: LlmRequest) -> None:
        shown.append(told([*llm_request.contents]))  # as code that reads them sees them
        if random is not None:
            vandalise(llm_request, random)

    agent = Agent(name="clerk", model=model, before_model_callback=before)
    runner = Runner(agent=agent, app_name="app", session_service=store, composition=compose_once("standard"))
    created = await store.create_session(app_name="app", user_id="ada", session_id=session)
    for event in events_of(kinds):
        await store.append_event(created, event)
    for _ in range(3):
        async for _ in runner.run_async(user_id="ada", session_id=session, new_message="go on"):
            pass
    for request, then in model.kept:
        assert dumped(request.contents) == then
    stored = await store.get_session(app_name="app", user_id="ada", session_id=session)
    assert stored is not None
    return shown, [told(event.content) for event in stored.events]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@settings(max_examples=40)
@given(kinds=st.lists(st.sampled_from(sorted(SAID)), min_size=1, max_size=6), seed=st.integers(0, 2**32))
def test_what_is_done_to_a_request_stays_in_it(kind: str, kinds: list[str], seed: int) -> None:
    async def check() -> None:
        store = InMemorySessionService() if kind == "memory" else SqliteSessionService(":memory:")
        try:
            shown, stored = expected = await turns(store, "untouched", kinds, None)
            assert shown[-1] == stored[:-1]
            assert await turns(store, "defaced", kinds, Random(seed)) == expected
        finally:
            await store.close()

    asyncio.run(check())
