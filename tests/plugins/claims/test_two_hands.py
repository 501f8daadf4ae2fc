"""Two runners on one session, in any order of what they and the outside do: what must hold after every step.

`NEWEL_EXAMPLES=2000 pytest tests/plugins/claims/test_two_hands.py` tries as many.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from house import WHERE, WORDS, House, Run, first_answers
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from newel.claims import SessionBusyError
from newel.questions.question import Kind, Question, questions_of
from newel_kernel import ConfigurationError, Event, EventActions, Log, StaleSessionError
from newel_types import Content, FunctionResponse, Part

_EXAMPLES = int(os.environ.get("NEWEL_EXAMPLES", "100"))
_PICK = st.integers(0, 5)
_HAND = st.integers(0, 1)
#: What a second run may meet, and one that resumes or rewinds what is not there any more.
_REFUSALS = (SessionBusyError, ConfigurationError, StaleSessionError)


class TwoHands(RuleBasedStateMachine):
    """Each rule is something that a user, a client or a crash does; each leaves the house at rest."""

    on_disk = False

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory() if self.on_disk else None
        self.crashed = False
        #: The calls that a crash left open; a rewind of a rewind may bring them back.
        self.left: set[str | None] = set()
        #: What lets a call take effect once more: its id, and the question to repeat it or the rewind that allowed so.
        self.permits: set[tuple[str, str]] = set()
        self.rewinds = 0
        self.answers = 0

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    @initialize(busy=st.sampled_from(["refuse", "queue", "interrupt"]))
    def begin(self, busy: str) -> None:
        async def made() -> House:
            house = House(Path(self.folder.name) if self.folder is not None else None, busy)
            await house.store.create_session(**WHERE)
            return house

        self.house = self.do(made())

    # --- what happens -------------------------------------------------------------------------------

    def start(self, hand: int, **what: Any) -> Run:
        async def go() -> Run:
            run = self.house.begin(hand, **what)
            await self.house.settle()
            return run

        run: Run = self.do(go())
        return run

    def every_run_ended_well(self) -> None:
        """A run that ended has ended well, or was refused or cancelled."""
        ended, self.house.ended = self.house.ended, []
        for run in ended:
            assert run.task is not None
            if run.task.cancelled():
                continue
            error = run.task.exception()
            if error is None and self.went_on(run):
                self.crashed = False
            if error is not None and not isinstance(error, _REFUSALS):
                raise error

    def went_on(self, run: Run) -> bool:
        """Whether a run did more than tell that an answer came too late: that leaves a crash to who resumes."""
        events = [event for event in self.do(self.house.stored()).events if event.id in run.acknowledged]
        refused = any(event.error_code == "ANSWERED_BEFORE" for event in events)
        return any(event.content is not None for event in events) if refused else bool(run.acknowledged)

    @rule(hand=_HAND, word=st.sampled_from(sorted(WORDS)))
    def say(self, hand: int, word: str) -> None:
        self.start(hand, new_message=word)

    @precondition(lambda self: self.house.runs)
    @rule(pick=_PICK, times=st.integers(1, 4))
    def step(self, pick: int, times: int) -> None:
        async def go() -> None:
            for _ in range(times):
                run = self.house.runs[pick % len(self.house.runs)] if self.house.runs else None
                gate = next((one for one in run.gates if not one.done()), None) if run is not None else None
                if run is None or gate is None:
                    return
                gate.set_result(None)
                await self.house.settle()

        self.do(go())

    @precondition(lambda self: self.house.runs)
    @rule(pick=_PICK)
    def cancel(self, pick: int) -> None:
        async def go() -> None:
            run = self.house.runs[pick % len(self.house.runs)]
            assert run.task is not None
            run.task.cancel()
            await asyncio.gather(run.task, return_exceptions=True)
            await self.house.settle()

        self.do(go())

    def question(self, pick: int) -> Question | None:
        events = self.do(self.house.stored()).events
        questions = [question for event in Log(events).standing() for question in questions_of(event)]
        return questions[pick % len(questions)] if questions else None

    def response(self, question: Question, confirmed: bool) -> Part:
        self.answers += 1
        answer = {"confirmed": confirmed} if question.kind is Kind.APPROVAL else {"result": f"answer {self.answers}"}
        if question.kind is Kind.APPROVAL and confirmed and question.repeats:
            self.permits.add((str(question.call_id), question.id))
        return Part(function_response=FunctionResponse(id=question.id, name=question.name, response=answer))

    @rule(hand=_HAND, pick=_PICK, confirmed=st.booleans())
    def answer(self, hand: int, pick: int, confirmed: bool) -> None:
        if (question := self.question(pick)) is not None:
            self.start(hand, new_message=Content(role="user", parts=[self.response(question, confirmed)]))

    def append(self, event: Event) -> None:
        async def go() -> None:
            session = await self.house.stored()
            await self.house.store.append_event(session, event)
            self.house.acknowledged.append([event.id])
            await self.house.settle()

        self.do(go())

    @rule(pick=_PICK, confirmed=st.booleans())
    def answer_from_outside(self, pick: int, confirmed: bool) -> None:
        if (question := self.question(pick)) is not None:
            content = Content(role="user", parts=[self.response(question, confirmed)])
            self.append(Event(author="user", invocation_id=question.invocation_id, content=content))

    @rule(value=_PICK)
    def write_from_outside(self, value: int) -> None:
        self.append(Event(author="outside", actions=EventActions(state_delta={"n": value})))

    def invocation(self, pick: int) -> str | None:
        ids = list(dict.fromkeys(e.invocation_id for e in self.do(self.house.stored()).events if e.invocation_id))
        return ids[pick % len(ids)] if ids else None

    @rule(hand=_HAND, pick=_PICK)
    def resume(self, hand: int, pick: int) -> None:
        if (invocation_id := self.invocation(pick)) is not None:
            self.start(hand, invocation_id=invocation_id)

    @rule(hand=_HAND, pick=_PICK)
    def rewind(self, hand: int, pick: int) -> None:
        async def permit() -> None:  # a question whose answer was taken back may be answered anew
            events = (await self.house.stored()).events
            questions = [question for event in Log(events).standing() for question in questions_of(event)]
            self.rewinds += 1
            asked = {str(one.call_id) for one in questions if one.kind is Kind.APPROVAL}
            self.permits.update((call_id, f"rewind {self.rewinds}") for call_id in asked)

        async def go(invocation_id: str) -> None:
            self.house.rewind(hand, invocation_id, permit)
            await self.house.settle()

        if (invocation_id := self.invocation(pick)) is not None:
            self.do(go(invocation_id))

    @rule()
    def kill(self) -> None:
        self.crashed = True
        self.do(self.house.kill())
        for event in self.do(self.house.stored()).events:
            self.left.update(call.id for call in event.get_function_calls())

    @rule(before=st.integers(1, 4), after=st.integers(1, 4), word=st.sampled_from(["pay", "wipe", "all"]))
    def crash_amid_a_run_and_resume(self, before: int, after: int, word: str) -> None:
        self.say(0, word)
        if self.house.runs:
            self.step(0, before)
        newest = self.do(self.house.stored()).events[-1].invocation_id
        self.kill()
        self.start(1, invocation_id=newest)
        if self.house.runs:
            self.step(0, after)

    # --- what holds ---------------------------------------------------------------------------------

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "house"):
            return
        self.every_run_ended_well()
        assert not self.house.problems, self.house.problems[0]
        events = self.do(self.house.stored()).events
        self.nothing_acknowledged_is_lost(events)
        self.calls_and_results_pair(events)
        self.the_first_answer_counts(events)
        for call_id, count in self.house.effects.items():
            allowed = 1 + sum(call_id == one for one, _ in self.permits)
            assert count <= allowed, f"{call_id} took effect {count} times"

    def the_first_answer_counts(self, events: list[Event]) -> None:
        """What was refused first has no effect, and what was approved first is not told to be refused."""
        if self.rewinds:  # what is answered anew is another answer to the same question
            return
        answers = first_answers(events)
        questions = [one for event in events for one in questions_of(event) if one.kind is Kind.APPROVAL]
        results = {r.id: r.response for e in events if e.author != "user" for r in e.get_function_responses()}
        asked = Counter(str(one.call_id) for one in questions)
        for question in questions:
            call_id, answer = str(question.call_id), answers.get(question.id)
            if answer is None or question.repeats or asked[call_id] > 1:
                continue
            refused = "rejected" in str(results.get(call_id))
            assert not (refused and answer["confirmed"]), f"{call_id} was approved first"
            assert answer["confirmed"] or not self.house.effects[call_id], f"{call_id} was refused first"

    def nothing_acknowledged_is_lost(self, events: list[Event]) -> None:
        positions = {event.id: position for position, event in enumerate(events)}
        assert len(positions) == len(events), "an event is stored twice"
        for ids in self.house.acknowledged:
            places = [positions[id_] for id_ in ids]
            assert places == sorted(places), "events are not in the order in which they were acknowledged"

    def calls_and_results_pair(self, events: list[Event]) -> None:
        known: set[str | None] = set()
        answered: Counter[str | None] = Counter()
        asked: Counter[str | None] = Counter()
        for event in events:
            known.update(call.id for call in event.get_function_calls())
            for response in event.get_function_responses():
                assert response.id in known, f"the result {response.id} has no call"
        for event in Log(events).standing():
            asked.update(question.call_id for question in questions_of(event))
            for response in event.get_function_responses() if event.author != "user" else ():
                answered[response.id] += 1
        for call_id, count in answered.items():
            assert count <= 1 + asked[call_id], f"{call_id} has {count} results, asked about {asked[call_id]} times"
        if self.house.runs or self.crashed:
            return
        waiting = {id_ for event in events for id_ in event.long_running_tool_ids or ()}
        calls = {call.id for event in Log(events).standing() for call in event.get_function_calls()} - waiting
        newest = next((event for event in reversed(events) if event.author == "user"), None)
        if newest is not None and newest.actions.rewind_before_invocation_id:  # the next message answers what came back
            calls -= self.left
        assert calls <= answered.keys(), "a call has neither a result nor one that stands in for it"

    def teardown(self) -> None:
        """At the end the session is of use: a message of a new process is answered."""
        try:
            if hasattr(self, "house"):
                self.finish()
        finally:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()
            if self.folder is not None:
                self.folder.cleanup()

    def finish(self) -> None:
        try:
            self.kill()
            self.say(0, "talk")
            while self.house.runs:
                self.step(0, 1)
            self.holds()
            assert not self.crashed
        finally:
            self.do(self.house.kill())
            self.do(self.house.store.close())


class TwoHandsOnDisk(TwoHands):
    """The same over a file."""

    on_disk = True


@pytest.mark.parametrize("machine", [TwoHands, TwoHandsOnDisk])
def test_two_hands_on_one_session(machine: type[TwoHands]) -> None:
    examples = _EXAMPLES // 4 if machine.on_disk and "NEWEL_EXAMPLES" not in os.environ else _EXAMPLES
    many = settings(
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(machine, settings=many)
