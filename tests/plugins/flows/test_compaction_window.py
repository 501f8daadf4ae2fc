"""Compacted histories: no call is parted from its result, and nothing is lost, summed up twice or refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from newel.apps import EventsCompactionConfig
from newel.flows.compaction_window import older, window
from newel.flows.history import History, Reading, assemble
from newel_kernel import Event, EventActions, EventCompaction
from newel_types import Content, FunctionCall, FunctionResponse, Part

_KEEPING = Reading(asked_only=True, keep_meanwhile=True)
_WINDOWS = [EventsCompactionConfig(compaction_interval=2, overlap_size=size) for size in (0, 1)]
#: What happens: a kind of event, or a compaction, and the numbers of the calls that it is about.
_STEPS = st.tuples(
    st.sampled_from(["text", "call", "job", "approval", "result", "final", "told", "window", "older"]),
    st.sets(st.integers(0, 4), min_size=1, max_size=2),
)
#: Hypothesis makes short lists by default.
_TALKS = st.lists(_STEPS, max_size=12) | st.lists(_STEPS, min_size=25, max_size=40)


class Talk:
    """A session that grows step by step, each event an invocation of its own, and what summaries were made of."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.inputs: list[list[Event]] = []
        #: The calls whose result is due, by number; the question that stands before one of them.
        self.jobs: set[int] = set()
        self.calls: set[int] = set()
        self.asked: set[int] = set()
        self.used: set[int] = set()

    def add(self, author: str, *parts: Part, waiting: set[str] | None = None) -> None:
        position = len(self.events)
        role = "model" if author == "a" and not any(part.function_response for part in parts) else "user"
        event = Event(author=author, content=Content(role=role, parts=list(parts)), invocation_id=f"i{position}")
        event.timestamp, event.long_running_tool_ids = float(position), waiting
        self.events.append(event)

    def step(self, kind: str, numbers: set[int]) -> None:
        if kind in ("window", "older"):
            chosen = (
                window(self.events, _WINDOWS[3 in numbers]) if kind == "window" else older(self.events, max(numbers))
            )
            self.compact(*chosen)
        elif kind == "text":
            self.add("user", Part(text=f"text {len(self.events)}"))
        elif kind in ("call", "job", "approval"):
            self.call(kind, numbers - self.used)
        elif kind == "result":
            if results := sorted(numbers & self.calls):
                self.add("a", *(response(number, "result") for number in results))
                self.calls -= set(results)
        elif kind == "told":
            if results := sorted(numbers & self.jobs):
                interim = [response(number, f"half {len(self.events)}", status="running") for number in results]
                self.add("user", *interim, Part(text=f"text {len(self.events)}"))
        else:
            self.finish(numbers)

    def call(self, kind: str, numbers: set[int]) -> None:
        if not numbers:
            return
        self.used |= numbers
        ids = {f"c{number}" for number in numbers}
        calls = [Part(function_call=FunctionCall(id=f"c{n}", name="act", args={})) for n in sorted(numbers)]
        self.add("a", *calls, waiting=ids if kind == "job" else None)
        if kind == "job":
            self.jobs |= numbers
        elif kind == "call":
            self.calls |= numbers
        else:
            for number in sorted(numbers):
                args = {"originalFunctionCall": {"id": f"c{number}", "name": "act", "args": {}}}
                question = FunctionCall(id=f"q{number}", name="adk_request_confirmation", args=args)
                self.add("a", Part(function_call=question), waiting={f"q{number}"})
            self.add("a", *(response(number, "asked") for number in sorted(numbers)))
            self.asked |= numbers

    def finish(self, numbers: set[int]) -> None:
        if jobs := sorted(numbers & self.jobs):
            self.add("user", *(response(number, "final") for number in jobs))
            self.jobs -= set(jobs)
        for number in sorted(numbers & self.asked):
            answer = FunctionResponse(id=f"q{number}", name="adk_request_confirmation", response={"confirmed": True})
            self.add("user", Part(function_response=answer))
            self.add("a", response(number, "approved"))
            self.asked.discard(number)

    def compact(self, chosen: Sequence[Event], retained: Sequence[str] = (), taken: Sequence[str] = ()) -> None:
        if not chosen:
            return
        self.inputs.append([*chosen])
        content = Content(role="model", parts=[Part(text=f"summary {len(self.inputs)}")])
        compaction = EventCompaction(
            start_timestamp=chosen[0].timestamp, end_timestamp=chosen[-1].timestamp, compacted_content=content
        )
        event = Event(author="user", actions=EventActions(compaction=compaction), invocation_id=f"i{len(self.events)}")
        event.timestamp = float(len(self.events))
        event.custom_metadata = {"newel.retains": list(retained), "newel.takes_in": list(taken)}
        self.events.append(event)

    def told_by_summaries(self, shown: set[str]) -> set[str]:
        """What went into the summaries that are shown, and into those that went into these."""
        told: set[str] = set()
        for number in range(len(self.inputs), 0, -1):
            if any(one.endswith(f"summary {number}") for one in shown | told):
                told |= words(self.inputs[number - 1])
        return told


class Turns(Talk):
    """A session whose invocations begin with what the user says, and that is compacted amid them and after them."""

    def __init__(self) -> None:
        super().__init__()
        self.invocation = "i"
        self.under_way = False

    def add(self, author: str, *parts: Part, waiting: set[str] | None = None) -> None:
        super().add(author, *parts, waiting=waiting)
        if author == "user":
            self.invocation, self.under_way = f"i{len(self.events)}", True
        self.events[-1].invocation_id = self.invocation

    def step(self, kind: str, numbers: set[int]) -> None:
        if kind not in ("window", "older"):
            if kind in ("call", "job", "approval") and not self.under_way:
                super().step("text", numbers)  # an agent that calls has been told something
            super().step(kind, numbers)
            return
        if kind == "window" or 4 in numbers:
            self.under_way = False
        if kind == "window":
            self.compact(*window(self.events, _WINDOWS[3 in numbers], keep_turn=True))
        else:
            self.compact(*older(self.events, max(numbers), self.invocation if self.under_way else ""))
        if self.under_way:
            self.look()

    def look(self) -> None:
        """See that what the turn under way is about is there."""
        whole = {word(part) for one in seen_by_agent(self.events) for part in one.parts or ()}
        newest = next((e for e in reversed(self.events) if any(one.startswith("text") for one in words([e]))), None)
        if newest is not None:
            assert {one for one in words([newest]) if one.startswith("text")} <= whole
        spoken = [event for event in self.events if event.content is not None]
        if spoken and spoken[-1].author == "a":
            assert {one for one in words([spoken[-1]]) if one.startswith(("call c", "c"))} <= whole


def seen_by_agent(events: list[Event]) -> list[Content]:
    return [event.content for event in assemble(events, "a", None, None, _KEEPING) if event.content is not None]


def response(number: int, word: str, **more: str) -> Part:
    return Part(function_response=FunctionResponse(id=f"c{number}", name="act", response={"is": word, **more}))


def words(events: list[Event]) -> set[str]:
    """The texts, calls and responses in events."""
    return {word(part) for event in events if event.content is not None for part in event.content.parts or ()}


def word(part: Part) -> str:
    if part.function_call is not None:
        return f"call {part.function_call.id}"
    if part.function_response is not None:
        return f"{part.function_response.id}: {(part.function_response.response or {}).get('is')}"
    return part.text or ""


def latest_words(events: list[Event]) -> set[str]:
    """What must reach the model: all texts and calls, and the latest response to each call."""
    responses = {
        one.id: word(Part(function_response=one))
        for event in events
        for one in event.get_function_responses()
        if (one.id or "").startswith("c")
    }
    return {one for one in words(events) if one.startswith(("text", "call c"))} | set(responses.values())


def shown(contents: list[Content]) -> list[list[str]]:
    return [[word(part) for part in content.parts or ()] for content in contents]


@settings(deadline=None, max_examples=200)
@given(_TALKS)
def test_nothing_is_lost_and_what_is_due_stays(steps: list[tuple[str, set[int]]]) -> None:
    play(Talk(), steps)


#: A job that was due at the first summary, and whose answer begins the turn that the second one finds under way.
_ANSWERED_BETWEEN = [
    *(("text", {0}), ("call", {1}), ("job", {0}), ("text", {0}), ("text", {0}), ("window", {0})),
    *(("final", {0}), ("result", {1}), ("call", {0, 2}), ("older", {0})),
]


@settings(deadline=None, max_examples=300)
@given(_TALKS)
@example(_ANSWERED_BETWEEN)
@example([("job", {2}), ("text", {1}), ("told", {2}), ("window", {1}), ("told", {2}), ("final", {2}), ("older", {0})])
def test_what_a_turn_is_about_stays_while_it_goes_on(steps: list[tuple[str, set[int]]]) -> None:
    play(Turns(), steps)


def play(talk: Talk, steps: list[tuple[str, set[int]]]) -> None:
    warm = History("a", None, None, _KEEPING)
    for kind, numbers in steps:
        talk.step(kind, numbers)
        seen = shown(warm.update(talk.events))
        assert seen == shown(seen_by_agent(talk.events))
        whole = {one for content in seen for one in content}
        summed_up = talk.told_by_summaries(whole)
        assert not latest_words(talk.events) - whole - summed_up
        assert not {one for one in whole & summed_up if one.startswith(("text", "call c"))}
        due = {f"call c{number}" for number in talk.jobs | talk.calls | talk.asked}
        assert due <= whole
        assert not due & summed_up
        for content, following in pairwise([*seen, []]):
            called = {one.removeprefix("call ") for one in content if one.startswith("call ")}
            came = {one.split(":")[0] for one in following if one.startswith("c") and ":" in one}
            assert came <= called
            assert called - came <= {f"c{number}" for number in talk.jobs | talk.calls}
    inputs = [sorted(words(chosen)) for chosen in talk.inputs]
    assert len({str(one) for one in inputs}) == len(inputs), "summed up twice"


@settings(deadline=None)
@given(st.lists(_STEPS, max_size=25))
def test_a_late_response_finds_its_call_in_the_recorded_form_too(steps: list[tuple[str, set[int]]]) -> None:
    talk = Talk()
    for kind, numbers in [*steps, ("job", set(range(5))), ("older", {1})]:
        talk.step(kind, numbers)
    for number in sorted(talk.jobs):
        talk.step("final", {number})
        seen = shown([event.content for event in assemble(talk.events, "a", None, None) if event.content is not None])
        assert f"call c{number}" in seen[-2]
        assert f"c{number}: final" in seen[-1]


def test_a_call_that_an_older_summary_took_in_comes_back_with_its_late_result() -> None:
    talk = Talk()
    for kind in ("text", "job"):
        talk.step(kind, {0})
    talk.compact(list(talk.events))
    talk.step("text", {0})
    talk.step("final", {0})
    for reading in (_KEEPING, Reading()):
        seen = shown([event.content for event in assemble(talk.events, "a", None, None, reading) if event.content])
        assert seen[0] == ["For context:", "[model] said: summary 1"]
        assert seen[-2:] == [["call c0"], ["c0: final"]]
