"""The same agent, the same script: live runs through a Runner, and what is stored of them."""

from __future__ import annotations

import time
from functools import partial

from newel.agents import RunConfig
from newel_kernel import Event, ModelError
from newel_testkit.live import gemini_messages
from newel_testkit.live.bench import CHUNK_OUT, Bench, Run, sound, sound_turn, text_turn, user
from newel_testkit.live.cases_of_ends import LOSSES, REFUSALS
from newel_testkit.live.cases_of_faults import long_session
from newel_testkit.live.connection import ScriptStep
from newel_testkit.live.runs import Outcome, Talk, converse
from newel_testkit.live.shapes import Shape, shapes, without_broken_off
from newel_testkit.live.steps import Close, Drop, Raw, Stall
from newel_types import SessionResumptionConfig

#: The long session: what the user says, and when.
LONG = Talk({0: [user("count")], 1: [user("add")], 3: [user("speak")], 4: [user("end")]}, turns=5)
ONE = Talk({0: [user("hi")]})
_CALL: list[Shape] = [("calls", [("add", {"a": 1})]), ("results", [("add", {"sum": 2})])]


async def a_conversation(bench: Bench, distribution: str = "adk") -> None:
    """The events, and those that are stored, are the same for every provider."""
    talk = Talk(LONG.says, LONG.turns, distribution=distribution)
    got = await converse(bench, talk, long_session(bench.dialect))
    assert got.error is None, got.error
    got.check()
    count = text_turn(*(f"{number} " for number in range(12)))
    call = [("usage metadata", True), *_CALL, ("turn complete", True)]
    sound = sound_turn(*[CHUNK_OUT] * 8, transcript=("that", " is"))
    assert shapes(got.events) == [*count, *call, *text_turn("a", "b"), *sound, *text_turn("the", " end")]
    questions: list[Shape] = [("text", "count"), ("text", "add"), ("text", "speak"), ("text", "end")]
    answers = [shape for shape in shapes(got.events) if not shape[0].startswith("piece") and shape[0] != "sound"]
    stored = shapes(got.stored)
    assert [shape for shape in stored if shape not in questions] == answers
    assert [shape for shape in stored if shape in questions] == questions
    bench.server.settle()
    assert not bench.server.problems


async def a_run_cut_at_each_message(bench: Bench) -> None:
    """Without a handle the loss is raised; the stored events are whole, paired, and there once."""
    script = long_session(bench.dialect)
    whole = await converse(bench, LONG, script)
    for place, step in enumerate(script):
        if isinstance(step, dict):
            got = await converse(bench, LONG, [*script[:place], Drop()])
            assert isinstance(got.error, ConnectionError), f"cut before message {place}: {got.error!r}"
            got.check()
            _is_start(got, whole, f"cut before message {place}")


def _is_start(got: Outcome, whole: Outcome, where: str) -> None:
    """The events of a run that broke off are those of the whole run up to there."""
    events, stored = without_broken_off(shapes(got.events)), without_broken_off(shapes(got.stored))
    assert events == shapes(whole.events)[: len(events)], f"{where}: {events[-3:]}"
    assert stored == shapes(whole.stored)[: len(stored)], f"{where}: {stored[-3:]}"


async def a_run_cut_at_each_message_that_resumes(bench: Bench) -> None:
    """The session continues over another connection; nothing is stored half, or twice."""
    script = long_session(bench.dialect)
    config = RunConfig(response_modalities=["TEXT"], session_resumption=SessionResumptionConfig())

    for place, step in enumerate(script):
        if not isinstance(step, dict):
            continue
        ended: list[Shape] = []
        first: list[ScriptStep] = [gemini_messages.resumption(f"h-{place}"), *script[:place], Drop()]
        talk = Talk(LONG.says, until=partial(_sees_again, ended), config=config, settings={"reconnect_seconds": 0.01})
        got = await converse(bench, talk, first, bench.dialect.text("again"))
        assert got.error is None, f"cut before message {place}: {got.error!r}"
        got.check()
        again = [shape for shape in shapes(got.stored) if shape == ("text", "again")]
        assert len(again) == 1, f"cut before message {place}: {shapes(got.stored)[-4:]}"


def _sees_again(seen: list[Shape], event: Event) -> bool:
    """Whether the turn in which the service said ``again`` is complete."""
    seen += shapes([event])
    return ("text", "again") in seen and bool(event.turn_complete)


async def a_run_that_is_told_to_go(bench: Bench) -> None:
    """The change to the next connection comes at the end of the turn."""
    d = bench.dialect
    away = [gemini_messages.resumption("h-1"), gemini_messages.go_away(20)]
    talk = Talk({0: [user("hi")], 1: [user("on")]}, turns=2)
    got = await converse(bench, talk, [*d.question(), *away, *d.text("still")], [*d.question(), *d.text("again")])
    assert got.error is None, got.error
    got.check()
    texts = [shape for shape in shapes(got.events) if shape[0] == "text"]
    assert texts == [("text", "still"), ("text", "again")]
    assert [one.state.get("resumed") for one in bench.server.connections[-2:]] == [None, "h-1"]


async def a_run_that_loses_its_connection(bench: Bench, code: int) -> None:
    """A normal close ends the run; another loss is raised. Half an answer is not stored."""
    d = bench.dialect
    end = Drop() if code == 1006 else Close(code, "own")
    got = await converse(bench, ONE, [*d.question(), *d.text("half", "way")[:-3], end])
    assert (got.error is None) is (code == 1000), got.error
    got.check()
    assert shapes(got.stored) == [("text", "hi")], shapes(got.stored)


async def a_run_that_is_refused(bench: Bench, code: int) -> None:
    """It is one error event, without the key, and the run ends."""
    d = bench.dialect
    got = await converse(bench, ONE, [*d.question(), Close(code, f"own: {d.key}")])
    errors = [event for event in got.events if event.error_code]
    assert [event.error_code for event in errors] == [str(code)], got.error
    assert "connection 1" in str(errors[0].error_message)
    assert d.key not in str(errors[0].error_message)
    assert got.error is None, got.error


async def a_run_with_a_wrong_key(bench: Bench) -> None:
    """It is raised, for every provider, and says so without the key."""
    bench.server.api_key = "another-key"
    got = await converse(bench, ONE, [])
    assert isinstance(got.error, ModelError), repr(got.error)
    assert "API key not valid" in str(got.error)
    assert bench.dialect.key not in str(got.error)
    assert got.stored == []


async def a_run_whose_service_stalls(bench: Bench) -> None:
    """It ends in time, and leaving takes at most 2 s."""
    d = bench.dialect
    talk = Talk(ONE.says, settings={"silence_seconds": 0.3})
    start = time.monotonic()
    got = await converse(bench, talk, [*d.question(), Stall()])
    assert isinstance(got.error, ConnectionError), got.error
    assert "has sent nothing for 0.3 s" in str(got.error)
    assert time.monotonic() - start < 4


async def a_run_that_is_left_while_its_service_stalls(bench: Bench) -> None:
    """Leaving takes at most 2 s."""
    d = bench.dialect
    talk = Talk(ONE.says, until=lambda event: True)
    got = await converse(bench, talk, [*d.question(), *d.text("x", "y")[:-3], Stall()])
    assert got.error is None, got.error
    assert got.leaving < 2


async def a_run_with_messages_that_cannot_be_read(bench: Bench) -> None:
    """They are error events, and the turn continues."""
    d = bench.dialect
    got = await converse(bench, ONE, [*d.question(), Raw('{"no'), d.unknown(), *d.text("on")])
    assert got.error is None, got.error
    expected = [("error", "MALFORMED_RESPONSE"), ("error", "UNKNOWN_MESSAGE"), *text_turn("on")]
    assert shapes(got.events) == expected


async def a_run_whose_consumer_is_slow(bench: Bench) -> None:
    """Sound that comes faster than it is taken arrives whole and in order."""
    d = bench.dialect
    chunks = [number.to_bytes(2, "little") * 4_800 for number in range(500)]
    talk = Talk(ONE.says, config=RunConfig(), pause=0.001)
    got = await converse(bench, talk, [*d.question(), *d.sound(*chunks, transcript=("so",))])
    assert got.error is None, got.error
    assert [shape[1] for shape in shapes(got.events) if shape[0] == "sound"] == chunks


async def a_run_of_speech(bench: Bench) -> None:
    """The history keeps transcriptions."""
    d = bench.dialect
    script = [*d.listened(3), *d.speech("what", " now"), *d.sound(CHUNK_OUT, transcript=("no", " idea"))]
    got = await converse(bench, Talk({0: [sound()] * 3}, config=RunConfig()), script)
    assert got.error is None, got.error
    transcriptions = [("input transcription", "what now"), ("output transcription", "no idea")]
    assert [shape for shape in shapes(got.stored) if "transcription" in shape[0]] == transcriptions
    assert [event.author for event in got.stored if event.input_transcription is not None] == ["user"]


CASES: dict[str, Run] = {
    run.__name__: run
    for run in (
        a_conversation,
        a_run_cut_at_each_message,
        a_run_cut_at_each_message_that_resumes,
        a_run_that_is_told_to_go,
        a_run_with_a_wrong_key,
        a_run_whose_service_stalls,
        a_run_that_is_left_while_its_service_stalls,
        a_run_with_messages_that_cannot_be_read,
        a_run_whose_consumer_is_slow,
        a_run_of_speech,
    )
}
CASES["a_conversation_in_standard"] = partial(a_conversation, distribution="standard")
CASES |= {
    f"a_run_that_loses_its_connection_with_{code}": partial(a_run_that_loses_its_connection, code=code)
    for code in LOSSES
}
CASES |= {f"a_run_that_is_refused_with_{code}": partial(a_run_that_is_refused, code=code) for code in REFUSALS}
#: Cases for services whose sessions can be resumed.
RESUMING: frozenset[str] = frozenset({"a_run_cut_at_each_message_that_resumes", "a_run_that_is_told_to_go"})
