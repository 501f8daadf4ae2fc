"""The reader of the log, against definitions that say the same in the plainest way."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from newel_kernel import Event, EventActions, Log
from newel_types import Content, FunctionCall, FunctionResponse, Part

IDS = ["a", "b", "c"]
INVOCATIONS = ["e-1", "e-2", "e-3"]


def message(answers: list[str]) -> Content:
    parts = [Part(function_response=FunctionResponse(id=one, name="tool", response={})) for one in answers]
    return Content(role="user", parts=[*parts, Part(text="words")])


@st.composite
def event(draw: st.DrawFn) -> Event:
    invocation = draw(st.sampled_from(INVOCATIONS))
    kind = draw(st.sampled_from(["calls", "answers", "rewind", "words"]))
    if kind == "rewind":
        target = draw(st.sampled_from([*INVOCATIONS, "e-unknown"]))
        return Event(invocation, "user", actions=EventActions(rewind_before_invocation_id=target))
    where: dict[str, Any] = {
        "author": draw(st.sampled_from(["user", "root", "child"])),
        "branch": draw(st.sampled_from([None, "root.child"])),
        "isolation_scope": draw(st.sampled_from([None, "scope"])),
    }
    if kind == "words":
        return Event(invocation, message="words", **where)
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=2, unique=True))
    if kind == "answers":
        answered = Event(invocation, content=message(ids), **where)
        answered.custom_metadata = draw(st.sampled_from([None, {"newel.provisional": True}]))
        return answered
    calls = [Part(function_call=FunctionCall(id=one, name="tool", args={})) for one in ids]
    waiting = set(draw(st.lists(st.sampled_from(IDS), max_size=2)))
    return Event(invocation, content=Content(role="model", parts=calls), long_running_tool_ids=waiting or None, **where)


LOGS = st.lists(event(), max_size=14)
ONE = st.sampled_from(IDS)


def standing(events: list[Event]) -> list[int]:
    """The positions that count: what an invocation's rewind took back, and the rewind itself, are crossed out."""
    gone: set[int] = set()
    for position in range(len(events) - 1, -1, -1):
        target = events[position].actions.rewind_before_invocation_id
        if position in gone or not target:
            continue
        gone.add(position)
        begins = [i for i in range(position) if events[i].invocation_id == target]
        gone.update(range(begins[0], position) if begins else ())
    return [i for i in range(len(events)) if i not in gone]


def call_ids(one: Event) -> list[str | None]:
    return [call.id for call in one.get_function_calls()]


def answered_ids(one: Event) -> list[str | None]:
    return [response.id for response in one.get_function_responses()]


@given(LOGS)
def test_what_a_rewind_took_back_does_not_count(events: list[Event]) -> None:
    log = Log(events)
    assert [position for position, _ in log.backwards()] == standing(events)[::-1]
    assert log.standing() == [events[i] for i in standing(events)]


@given(LOGS, st.sampled_from(INVOCATIONS))
def test_an_invocation_begins_with_its_first_event(events: list[Event], invocation: str) -> None:
    positions = [i for i, one in enumerate(events) if one.invocation_id == invocation]
    assert Log(events).beginning(invocation) == (positions[0] if positions else None)


@given(LOGS, st.sets(ONE))
def test_the_asker_is_the_latest_event_with_the_call(events: list[Event], ids: set[str | None]) -> None:
    askers = [events[i] for i in standing(events) if ids.intersection(call_ids(events[i]))]
    assert Log(events).asker(ids) is (askers[-1] if askers else None)


@given(LOGS, st.sampled_from(["root", "child"]), st.sampled_from([None, "scope"]), st.booleans(), st.booleans())
def test_open_calls_are_those_of_the_latest_event_of_calls_that_have_no_result(
    events: list[Event], author: str, scope: str | None, on_branch: bool, of_invocation: bool
) -> None:
    count = [i for i in standing(events) if not of_invocation or events[i].invocation_id == "e-1"]
    count = [i for i in count if events[i].isolation_scope == scope]
    begun = {
        i: [call_id for call_id in call_ids(events[i]) if call_id not in (events[i].long_running_tool_ids or ())]
        for i in count
        if events[i].author == author and not (on_branch and events[i].branch is not None)
    }
    latest = max((i for i, ids in begun.items() if ids), default=None)
    where: dict[str, Any] = {"branch": None} if on_branch else {}
    calls = Log(events).calls(author, scope, **where, **({"invocation_id": "e-1"} if of_invocation else {}))
    if latest is None:
        assert calls is None
        return
    results = [one for i in count if i >= latest and not events[i].custom_metadata for one in answered_ids(events[i])]
    assert calls is not None
    assert (calls.position, calls.event) == (latest, events[latest])
    assert [call.id for call in calls.open] == [one for one in begun[latest] if one not in results]


@given(LOGS, st.lists(ONE, unique=True))
def test_a_turn_belongs_to_the_latest_event_that_asks(events: list[Event], ids: list[str]) -> None:
    log = Log(events)
    turn = log.turn(message(ids))
    assert turn.answered == set(ids)
    assert turn.askers == {one: asker for one in ids if (asker := log.asker({one})) is not None}
    assert turn.asker is log.asker(set(ids))


def test_a_message_that_answers_nothing_belongs_to_no_asker() -> None:
    turn = Log([Event("e-1", "root", message="words")]).turn(None)
    assert (turn.answered, turn.askers, turn.asker, turn.content) == (set(), {}, None, None)
