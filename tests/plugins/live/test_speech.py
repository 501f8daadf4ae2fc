"""History has what was spoken in the order of speech, whenever the service says what it heard and however it ends."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import Any

import pytest

from newel import Agent, Runner
from newel.agents import LiveRequestQueue, RunConfig
from newel.models.wire import speech_order
from newel.sessions import InMemorySessionService
from newel_compose import compose_once
from newel_kernel import Event
from newel_testkit.live import gemini_messages as g
from newel_testkit.live import openai_messages as o
from newel_testkit.live.dialects import Dialect, GeminiDialect, OpenAIDialect
from newel_testkit.live.steps import Close, Drop, Pause, Wait
from newel_types import Blob

SOUND = b"\x00\x01" * 2400
SPEECH = [o.speech_started(), o.speech_stopped()]
GEMINI, OPENAI = GeminiDialect(), OpenAIDialect()
RATES = {"gemini": 16_000, "openai": 24_000}
WAITS = {"gemini": Wait("realtimeInput"), "openai": Wait("input_audio_buffer.append")}


def weather() -> str:
    """Tell the weather."""
    return "sun"


def flat(steps: Any) -> list[Any]:
    return [one for step in steps for one in (flat(step) if isinstance(step, list) else [step])]


def shown(events: list[Event]) -> list[str]:
    told: list[str] = []
    for event in events:
        for who, words in (("user", event.input_transcription), ("model", event.output_transcription)):
            if words is not None and not event.partial:
                told.append(f"{who}: {words.text}")
        told += [f"call {call.name}" for call in event.get_function_calls()]
        told += [f"result {result.name}" for result in event.get_function_responses()]
    return told


async def talk(dialect: Dialect, *scripts: list[Any], turns: int = 1) -> list[str]:
    """Say something, and leave after `turns` turns, or as the connection ends; what the session has then."""
    store, queue = InMemorySessionService(), LiveRequestQueue()
    kind = "gemini" if isinstance(dialect, GeminiDialect) else "openai"
    with dialect.serving() as server:
        for number, script in enumerate(scripts):
            server.connection(Pause(0) if number else WAITS[kind], *flat(script))
        model = dialect.model(server)
        helper = Agent(name="helper", description="helps", model=model)
        root = Agent(name="root", model=model, sub_agents=[helper], tools=[weather])
        runner = Runner(
            agent=root,
            app_name="app",
            session_service=store,
            auto_create_session=True,
            composition=compose_once("standard"),
        )
        queue.send_realtime(Blob(data=SOUND, mime_type=f"audio/pcm;rate={RATES[kind]}"))
        where = {"user_id": "u", "session_id": "s"}
        try:
            async with asyncio.timeout(20):
                run = runner.run_live(**where, live_request_queue=queue, run_config=RunConfig())
                async with aclosing(run) as events:
                    async for event in events:
                        turns -= bool(event.turn_complete)
                        if event.turn_complete and turns <= 0:
                            await asyncio.sleep(0.1)
                            queue.close()
        except ConnectionError:
            pass
        session = await store.get_session(app_name="app", **where)
        server.settle()
    assert session is not None
    return shown(session.events)


NOON = [g.audio(), g.output_text("Noon.", True)]
ASKED = ["user: What time?", "model: Noon."]


@pytest.mark.parametrize(
    "script",
    [
        [*NOON, g.input_text("What "), g.input_text("time?"), g.turn_complete()],
        [*NOON, g.turn_complete(), Pause(0.05), g.input_text("What time?", True)],
        [*NOON, g.turn_complete(), Pause(0.05), g.input_text("What "), g.input_text("time?")],
        [g.audio(), g.output_text("Noon."), g.generation_complete(), g.turn_complete(), g.input_text("What time?")],
    ],
)
def test_what_gemini_heard_stands_before_its_answer(script: list[Any]) -> None:
    assert asyncio.run(talk(GEMINI, script)) == ASKED


def test_the_next_answer_does_not_overtake_what_waits() -> None:
    first = [*NOON, g.turn_complete(), Pause(0.05), g.input_text("What "), g.input_text("time?")]
    second = [g.audio(), g.output_text("Bye."), g.turn_complete()]
    assert asyncio.run(talk(GEMINI, [*first, *second], turns=2)) == [*ASKED, "model: Bye."]


@pytest.mark.parametrize("late", [False, True])
def test_the_words_that_a_call_answers_stand_before_it(late: bool) -> None:
    words, call = [g.input_text("Weather "), g.input_text("now?")], g.tool_call(("weather", {}, "c1"))
    opening = [call, Pause(0.05), *words] if late else [*words, call]
    script = [*opening, Wait("toolResponse"), g.output_text("Sun."), g.turn_complete()]
    told = ["user: Weather now?", "call weather", "result weather", "model: Sun."]
    assert asyncio.run(talk(GEMINI, script)) == told


def test_an_answer_to_a_tool_s_result_waits_for_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech_order, "PATIENCE", 30.0)
    call = g.tool_call(("weather", {}, "c1"))
    script = [g.input_text("Now?", True), call, Wait("toolResponse"), g.output_text("Sun.", True), g.turn_complete()]
    started = time.monotonic()
    assert asyncio.run(talk(GEMINI, script))[-1] == "model: Sun."
    assert time.monotonic() - started < 20


MIDST = [g.resumption("h"), g.input_text("What "), g.input_text("time?"), g.output_text("It is")]
NEXT = [g.output_text("noon."), g.turn_complete()]


@pytest.mark.parametrize("end", [[g.go_away(0.6), Pause(1.5)], [Pause(0.05), Drop()]])
def test_what_was_spoken_before_a_change_of_connections_is_kept(end: list[Any]) -> None:
    told = asyncio.run(talk(GEMINI, [*MIDST, *end], NEXT))
    assert told == ["user: What time?", "model: It is…", "model: noon."]


def test_what_was_spoken_before_a_handover_is_kept() -> None:
    call = g.tool_call(("transfer_to_agent", {"agent_name": "helper"}, "c1"))
    script = [g.input_text("Get "), g.input_text("help"), call, g.input_text(" please")]
    told = asyncio.run(talk(GEMINI, script, NEXT))
    assert "".join(one.removeprefix("user: ") for one in told if one.startswith("user")) == "Get help please"
    assert told[0].startswith("user: Get help")
    assert told[-1] == "model: noon."


def test_openai_keeps_what_was_spoken_before_a_handover() -> None:
    call = o.call("transfer_to_agent", '{"agent_name": "helper"}', "c1")
    script = [*SPEECH, *call, *o.input_text("Get ", "help")[:2]]
    told = asyncio.run(talk(OPENAI, script, o.speak(SOUND, transcript="Here.")))
    assert "user: Get help" in told
    assert told[-1] == "model: Here."


@pytest.mark.parametrize("end", [Drop(), Close(1000)])
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([*SPEECH, o.speak(SOUND, transcript="It is noon.")[:-1]], ["model: It is noon."]),
        ([*SPEECH, o.input_text("What ", "time?")[:2]], ["user: What time?"]),
        (
            [*SPEECH, o.input_text("What time?"), o.speak(SOUND, transcript="It is noon.")[:7]],
            ["user: What time?", "model: It is…"],
        ),
    ],
)
def test_openai_keeps_what_was_spoken_as_the_connection_ends(script: Any, told: list[str], end: Any) -> None:
    assert asyncio.run(talk(OPENAI, [*script, Pause(0.05), end])) == told


def test_history_does_not_claim_what_was_not_heard() -> None:
    balance = "Your balance is five euros. To close it now say confirm."
    answer = [*[g.audio(SOUND * 20)] * 4, g.output_text(balance), g.interrupted(), g.turn_complete()]
    script = [g.input_text("My balance?"), *answer, g.input_text("Wait"), g.output_text("Yes?"), g.turn_complete()]
    told = asyncio.run(talk(GEMINI, script, turns=2))
    assert told[0] == "user: My balance?"
    assert told[1].endswith("…")
    assert "confirm" not in str(told)
    assert told[2:] == ["user: Wait", "model: Yes?"]
