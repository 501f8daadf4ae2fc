"""What a store keeps is a value: every store gives the same values back, refuses the same, and shares nothing."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime
import enum
import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from newel.sessions import DatabaseSessionService, InMemorySessionService, SqliteSessionService
from newel_kernel import Event, SessionError
from newel_postgres import PostgresSessionService
from newel_types import Content, FunctionCall, FunctionResponse, Part

WHERE: dict[str, Any] = {"app_name": "app", "user_id": "u"}
NUMBERS = itertools.count()


class Model(BaseModel):
    n: Any = 1


@dataclasses.dataclass
class Data:
    n: Any = 1


class Color(enum.StrEnum):
    RED = "red"


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=6),  # lone surrogates and NUL, too
    st.binary(max_size=4),
    st.dates(),
    st.decimals(),
    st.builds(object),
    st.builds(lambda: 10**5000),  # of too many digits to be shown
    st.sets(st.integers(), max_size=1),
    st.sampled_from(
        [(1, 2), -0.0, 2**70, math.nan, Path("/x"), Color.RED, collections.deque([1]), datetime.timedelta(1)]
    ),
)
KEYS = st.one_of(st.text(st.characters(), max_size=4), st.integers(0, 2), st.sampled_from(["1", "true"]), st.booleans())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3),
        st.tuples(inner),
        st.builds(Model, n=inner),
        st.builds(Data, n=inner),
    ),
    max_leaves=8,
)
#: Where an event, or a new session, holds values.
PLACES = [
    "initial", "delta", "app", "user", "output", "custom_metadata", "agent_state", "route", "args", "response", "text",
]  # fmt: skip


def event_with(place: str, value: Any) -> Event:
    event = Event(author="a", id="e", timestamp=1.0, message="m")
    if place in ("delta", "app", "user"):
        event.actions.state_delta = {{"delta": "k"}.get(place, f"{place}:k"): value, "temp:x": object()}
    elif place in ("agent_state", "route"):
        setattr(event.actions, place, {"v": value})
    elif place in ("output", "custom_metadata"):
        setattr(event, place, {"v": value})
    elif place == "args":
        event.content = Content(role="model", parts=[Part(function_call=FunctionCall(id="c", name="f"))])
        event.content.parts[0].function_call.args = {"v": value}  # type: ignore[index,union-attr]
    elif place == "text" and isinstance(value, str):
        event.content = Content(role="user", parts=[Part(text=value)])
    return event


def response_of(value: Any) -> Event:
    result = FunctionResponse(id="c", name="f")
    result.response = {"v": value}
    return Event(
        author="a", id="r", timestamp=2.0, content=Content(role="user", parts=[Part(function_response=result)])
    )


def shown(event: Event) -> Any:
    return event.content, event.touched_actions, event.output, event.custom_metadata


async def answer(store: Any, place: str, value: Any) -> Any:
    """What the store says: the error, or all that it gives back."""
    where = {**WHERE, "session_id": f"s{next(NUMBERS)}"}
    try:
        initial = {"k": value, "app:k": value, "temp:x": object()} if place == "initial" else None
        session = await store.create_session(**where, state=initial)
        live = await store.open(**where)
        await store.append_event(
            live, event_with("args" if place == "response" else place, 1 if place == "response" else value)
        )
        if place == "response":
            await store.append_event(live, response_of(value))
    except SessionError as error:
        return type(error).__name__, str(error).partition(" cannot be stored: ")[2]
    again = await store.get_session(**where)
    seen = [(one.content, one.touched_actions, one.output, one.custom_metadata) for one in again.events]
    assert repr([(one.content, one.touched_actions, one.output, one.custom_metadata) for one in live.events]) == repr(
        seen
    )
    state = {name: value for name, value in live.state.items() if not name.startswith("temp:")}
    answered = repr((again.state, state, session.state, seen))
    for name in ("app:k", "user:k"):  # for the next example
        await store.append_event(live, Event(author="a", state={name: None}))
    return answered


@pytest.fixture
def stores(tmp_path: Path, request: pytest.FixtureRequest) -> list[Any]:
    """One of each kind."""
    url: str = request.getfixturevalue("postgres")()
    return [
        InMemorySessionService(),
        SqliteSessionService(tmp_path / "s.db"),
        PostgresSessionService(url),
        DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path}/d.db"),
    ]


def test_all_stores_give_the_same_answers(stores: list[Any]) -> None:
    with asyncio.Runner() as runner:

        @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(st.sampled_from(PLACES), VALUES)
        def check(place: str, value: Any) -> None:
            answers = [runner.run(answer(store, place, value)) for store in stores]
            assert [one == answers[0] for one in answers] == [True] * len(stores), (place, answers)

        try:
            check()
        finally:
            for store in stores[1:]:
                runner.run(store.close())


def test_what_the_caller_changes_later_changes_no_history(stores: list[Any]) -> None:
    async def main() -> None:
        where = {**WHERE, "session_id": "s"}
        for store in stores:
            initial: dict[str, Any] = {"i": {"a": []}}
            session = await store.create_session(**where, state=initial)
            live = await store.open(**where)
            cart: list[Any] = [1]
            output: dict[str, Any] = {"o": []}
            metadata: dict[str, Any] = {"m": []}
            args: dict[str, Any] = {"x": []}
            event = Event(author="a", message="m", state={"cart": cart, "app:cart": cart, "n": 1})
            await store.append_event(live, event)
            delta = event.actions.state_delta
            delta["n"] = 2
            delta["cart"].append("later")
            call = Part(function_call=FunctionCall(id="c", name="f", args=args))
            other = Event(author="a", content=Content(role="model", parts=[call]), output=output)
            other.custom_metadata = metadata
            await store.append_event(live, other)
            asked = Event(
                author="a",
                content=Content(parts=[Part(function_response=FunctionResponse(id="c", name="f", response=args))]),
            )
            await store.append_event(live, asked)
            for changed in (initial["i"]["a"], cart, output["o"], metadata["m"], args["x"], live.state["cart"]):
                changed.append("later")
            live.state["app:cart"].append("later")
            session.state["i"]["a"].append("later")
            again = await store.get_session(**where)
            assert again.state == {"i": {"a": []}, "cart": [1], "app:cart": [1], "n": 1}
            one, two, three = again.events
            assert one.actions.state_delta == {"cart": [1], "app:cart": [1], "n": 1}
            assert (two.output, two.custom_metadata) == ({"o": []}, {"m": []})
            assert two.get_function_calls()[0].args == {"x": []}
            assert three.get_function_responses()[0].response == {"x": []}
            if not isinstance(store, InMemorySessionService):
                await store.close()

    asyncio.run(main())
