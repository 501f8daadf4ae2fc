"""Which events a summary takes in: no call is parted from its result."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from newel.apps import EventsCompactionConfig
from newel.flows.compaction_window import window
from newel_kernel import Event
from newel_types import Content, FunctionCall, FunctionResponse, Part

#: What an event holds: a text, a call of this id, or its result.
HISTORIES = st.lists(st.tuples(st.sampled_from(["text", "call", "result"]), st.integers(0, 3)), max_size=12)


def event(index: int, kind: str, number: int) -> Event:
    part = Part(text="words")
    if kind == "call":
        part = Part(function_call=FunctionCall(id=f"c{number}", name="act", args={}))
    elif kind == "result":
        part = Part(function_response=FunctionResponse(id=f"c{number}", name="act", response={}))
    return Event("e-1", "root", content=Content(role="model", parts=[part]), timestamp=float(index))


def open_ids(events: list[Event]) -> set[str | None]:
    waiting: set[str | None] = set()
    for one in events:
        waiting |= {call.id for call in one.get_function_calls()}
        waiting -= {response.id for response in one.get_function_responses()}
    return waiting


@settings(deadline=None)
@given(HISTORIES)
def test_the_longest_beginning_without_an_open_call_is_taken(history: list[tuple[str, int]]) -> None:
    events = [event(index, *entry) for index, entry in enumerate(history)]
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0)
    chosen = window(events, config)
    assert chosen == events[: len(chosen)]
    assert not open_ids(chosen)
    assert all(open_ids(events[:end]) for end in range(len(chosen) + 1, len(events) + 1))
