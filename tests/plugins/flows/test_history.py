"""History: the kept conversation is what the whole log makes, whatever happens to it; no edit reaches the log."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from newel.flows.history import History, Reading, assemble, outgoing
from newel_kernel import Event, EventActions, EventCompaction, SessionError, freeze_event
from newel_types import Content, FunctionCall, FunctionResponse, Part, SharedContents, Transcription

_AGENTS, _BRANCHES = ("a", "b"), (None, "x", "x.y", "z")
_PLACES = st.integers(0, 20)
_WHERE = {"author": st.sampled_from(("user", *_AGENTS)), "branch": st.sampled_from(_BRANCHES)}
_EDITS = st.sampled_from(("texts", "last", "insert", "pop", "parts"))


def _step(do: str, **details: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"do": st.just(do), **details})


_STEPS = st.one_of(
    _step("say", thought=st.booleans(), scope=st.sampled_from((None, "s")), **_WHERE),
    _step("call", count=st.integers(1, 3), text=st.booleans(), **_WHERE),
    _step("answer", which=st.lists(_PLACES, min_size=1, max_size=3), text=st.booleans(), **_WHERE),
    _step("hear", input=st.booleans(), **_WHERE),
    _step("transfer", **_WHERE),
    _step("chunk", **_WHERE),
    _step("nothing", **_WHERE),
    _step("rewind", to=_PLACES),
    _step("compact", since=_PLACES, branch=st.sampled_from(_BRANCHES)),
    _step("cut", to=_PLACES),
    _step("edit", how=_EDITS),
)
_READINGS = st.builds(Reading, st.booleans(), st.booleans(), st.booleans())


def _parts(step: dict[str, Any], number: int, events: list[Event]) -> list[Part]:
    text = [Part(text=f"t{number}")] if step.get("text") else []
    values = {"n": [number]}
    if step["do"] == "call":
        ids = [f"{'adk-' if number % 2 else ''}c{number}.{at}" for at in range(step["count"])]
        return text + [Part(function_call=FunctionCall(id=id_, name="f", args=dict(values))) for id_ in ids]
    if step["do"] == "answer":
        called = [call.id for event in events for call in event.get_function_calls()]
        ids = [*dict.fromkeys(called[place % len(called)] for place in step["which"] if called)]
        return [Part(function_response=FunctionResponse(id=id_, name="f", response=dict(values))) for id_ in ids] + text
    if step["do"] == "transfer":
        return [Part(function_call=FunctionCall(id=f"t{number}", name="transfer_to_agent", args={"agent_name": "b"}))]
    return [Part(text=f"t{number}", thought=step.get("thought") or None)]


def _event(step: dict[str, Any], number: int, events: list[Event]) -> Event:
    fields: dict[str, Any] = {
        "invocation_id": f"i{number // 3}",
        "timestamp": float(number),
        "branch": step.get("branch"),
    }
    do = step["do"]
    if do == "rewind":
        back = events[step["to"] % len(events)].invocation_id if events else "i0"
        return Event(author="user", actions=EventActions(rewind_before_invocation_id=back), **fields)
    if do == "compact":
        summary = Content(role="model", parts=[Part(text=f"summary {number}")])
        since = float(step["since"] % (number + 1))
        compaction = EventCompaction(start_timestamp=since, end_timestamp=float(number), compacted_content=summary)
        return Event(author="user", actions=EventActions(compaction=compaction), **fields)
    fields |= {"author": step["author"], "isolation_scope": step.get("scope")}
    if do == "hear":
        heard = Transcription(text=f"h{number}")
        return Event(**{"input_transcription" if step["input"] else "output_transcription": heard}, **fields)
    if do == "nothing":
        return Event(actions=EventActions(state_delta={"k": number}), **fields)
    role = "user" if step["author"] == "user" or do == "answer" else "model"
    return Event(
        content=Content(role=role, parts=_parts(step, number, events)), partial=do == "chunk" or None, **fields
    )


def _edit(contents: SharedContents, how: str) -> None:
    """What a callback may do to a request."""
    if how == "insert":
        contents.insert(0, Content(role="user", parts=[Part(text="inserted")]))
    for content in contents[-1:] if how in ("last", "pop") else contents:
        for part in content.parts or []:
            part.text = "edited"
            if part.function_call is not None:
                (part.function_call.args or {}).setdefault("n", []).append("edited")
            if part.function_response is not None:
                (part.function_response.response or {}).setdefault("n", []).append("edited")
        if how == "parts":
            (content.parts or []).append(Part(text="more"))
    if how == "pop" and contents:
        contents.pop()


def _dumped(contents: Callable[[], list[Content]]) -> list[dict[str, Any]] | str:
    """The contents, or why there are none: a result whose call the agent cannot see."""
    try:
        return [content.model_dump(exclude_none=True) for content in contents()]
    except SessionError as error:
        return str(error)


def _whole(events: list[Event], view: tuple[str, str | None], reading: Reading, untold: list[Event]) -> list[Content]:
    whole = assemble(events, *view, None, reading, untold)
    return [outgoing(event.content) for event in whole if event.content is not None]


def _steps(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    where = {"author": "user", "branch": None}
    return [{"thought": False, "text": False, **where, **step} for step in steps]


_TRANSFER, _SAY = {"do": "transfer"}, {"do": "say"}
_SUMMARY, _ANSWER = {"do": "compact", "since": 0}, {"do": "answer", "which": [0]}


@settings(max_examples=200, deadline=None)
@given(reading=_READINGS, steps=st.lists(_STEPS, max_size=18))
# A late response, something that is not shown, and what is said then.
@example(Reading(), _steps(_TRANSFER, _SAY, _SAY, _ANSWER, {"do": "say", "thought": True}, _SAY))
# The log is cut behind a call of another agent.
@example(Reading(), _steps({"do": "transfer", "author": "a"}, _SAY, {"do": "cut", "to": 1}, _ANSWER))
# A call in a summary is answered on another branch, and once more by another agent.
@example(Reading(), _steps(_TRANSFER, _TRANSFER, _SUMMARY, {**_ANSWER, "branch": "z"}))
@example(Reading(), _steps(_TRANSFER, _ANSWER, _TRANSFER, _SUMMARY, _SAY, _SAY, {**_ANSWER, "author": "a"}))
def test_what_is_kept_is_what_the_whole_log_makes(reading: Reading, steps: list[dict[str, Any]]) -> None:
    events: list[Event] = []
    stored: list[dict[str, Any]] = []
    kept = {view: History(*view, None, reading) for view in product(_AGENTS, (None, "x.y"))}
    for number, step in enumerate(steps):
        if step["do"] == "cut":
            to = step["to"] % (len(events) + 1)
            del events[to:], stored[to:]
        elif step["do"] != "edit":
            events.append(freeze_event(_event(step, number, events)))
            stored.append(events[-1].model_dump())
        for view, history in kept.items():
            untold: list[Event] = []
            expected = _dumped(partial(_whole, events, view, reading, untold))
            assert _dumped(partial(history.update, events)) == expected
            if step["do"] == "edit" and isinstance(expected, list):
                _edit(SharedContents(history.update(events)), step["how"])
                assert _dumped(partial(history.update, events)) == expected
            if isinstance(expected, list):
                assert [*history.untold.values()] == untold
    assert [event.model_dump() for event in events] == stored
