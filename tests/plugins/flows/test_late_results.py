"""Late results: what was said between a call and a late response to it, in both distributions."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from newel.flows.history import History, Reading, assemble
from newel_kernel import Event
from newel_types import Content, FunctionCall, FunctionResponse, Part

_KEEPING = Reading(asked_only=True, keep_meanwhile=True)


def said(text: str) -> Event:
    return Event(author="user", content=Content(role="user", parts=[Part(text=text)]))


def spoken(text: str) -> Event:
    return Event(author="a", content=Content(role="model", parts=[Part(text=text)]))


def called(*ids: str) -> Event:
    parts = [Part(function_call=FunctionCall(id=id_, name="job", args={})) for id_ in ids]
    event = Event(author="a", content=Content(role="model", parts=parts))
    event.long_running_tool_ids = set(ids)
    return event


def answered(*ids: str, word: str, author: str = "user", text: str = "") -> Event:
    parts = [Part(text=text)] if text else []
    parts += [Part(function_response=FunctionResponse(id=id_, name="job", response={"is": word})) for id_ in ids]
    return Event(author=author, content=Content(role="user", parts=parts))


def told(contents: list[Content]) -> list[list[str]]:
    return [[_told(part) for part in content.parts or ()] for content in contents]


def _told(part: Part) -> str:
    if part.function_call is not None:
        return f"call {part.function_call.id}"
    if part.function_response is not None:
        return f"{part.function_response.id}: {(part.function_response.response or {}).get('is')}"
    return part.text or ""


def contents_of(events: list[Event], reading: Reading) -> list[Content]:
    return [event.content for event in assemble(events, "a", None, None, reading) if event.content is not None]


def test_what_was_said_meanwhile_stays_before_the_pair() -> None:
    events = [said("go"), called("c"), answered("c", word="pending", author="a"), spoken("wait"), said("and?")]
    events += [spoken("not yet"), answered("c", word="done")]
    assert told(contents_of(events, _KEEPING)) == [
        ["go"], ["wait"], ["and?"], ["not yet"], ["call c"], ["c: done"],
    ]  # fmt: skip
    assert told(contents_of(events, Reading())) == [["go"], ["call c"], ["c: done"]]


def test_each_response_to_a_long_running_call_is_told_in_turn() -> None:
    events = [said("go"), called("c"), answered("c", word="pending", author="a"), spoken("wait")]
    for reading in (_KEEPING, Reading()):
        for word in ("50 %", "done"):
            seen = told(contents_of([*events, answered("c", word="50 %"), answered("c", word=word)], reading))
            assert seen[-2:] == [["call c"], [f"c: {word}"]]


def test_what_comes_with_a_response_stays_in_its_place() -> None:
    events = [said("go"), called("c", "d"), answered("c", "d", word="pending", author="a")]
    events += [answered("d", word="half", text="first"), said("second"), answered("c", "d", word="done", text="third")]
    assert told(contents_of(events, _KEEPING)) == [
        ["go"], ["first"], ["second"], ["call c", "call d"], ["c: done", "d: done", "third"],
    ]  # fmt: skip


_IDS = ("c0", "c1", "c2", "c3")
_STEPS = st.one_of(
    st.just(("said",)),
    st.just(("spoken",)),
    st.tuples(st.just("called"), st.integers(1, 2)),
    st.tuples(st.just("answered"), st.lists(st.sampled_from(_IDS), min_size=1, max_size=3, unique=True), st.booleans()),
)


@given(steps=st.lists(_STEPS, max_size=14))
def test_nothing_is_lost_and_every_pair_stands_together(steps: list[tuple[object, ...]]) -> None:
    events: list[Event] = []
    made = 0
    texts: list[str] = []
    latest: dict[str, str] = {}
    history = History("a", None, None, _KEEPING)
    for number, (kind, *details) in enumerate(steps):
        if kind == "said":
            events.append(said(f"u{number}"))
            texts.append(f"u{number}")
        elif kind == "spoken":
            events.append(spoken(f"a{number}"))
            texts.append(f"a{number}")
        elif kind == "called":
            ids = [f"c{made + at}" for at in range(int(str(details[0])))]
            made += len(ids)
            events.append(called(*ids))
        else:
            chosen, with_text = details
            assert isinstance(chosen, list)
            ids = [id_ for id_ in chosen if int(id_[1:]) < made]
            if not ids:
                continue
            text = f"u{number}" if with_text else ""
            events.append(answered(*ids, word=str(number), text=text))
            texts += [text] if text else []
            latest.update(dict.fromkeys(ids, str(number)))
        shown = told(history.update(events))
        assert shown == told(contents_of(events, _KEEPING))
        flat = [part for content in shown for part in content]
        assert [part for part in flat if part[0] in "ua"] == texts
        assert Counter(p for p in flat if p.startswith("call ")) == Counter(f"call c{n}" for n in range(made))
        for at, content in enumerate(shown):
            open_ids = [part.removeprefix("call ") for part in content if part.startswith("call ")]
            if results := [f"{id_}: {latest[id_]}" for id_ in open_ids if id_ in latest]:
                assert sorted(shown[at + 1][: len(results)]) == sorted(results)
        assert sum(": " in part for part in flat) == len(latest)
