"""Whatever a service says, in whatever order: both providers' readers keep the rules of a live connection."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from newel.models.google.history import Dialect
from newel.models.google.live.connection import GeminiLiveConnection
from newel.models.google.live.reading import Reader as GeminiReader
from newel.models.google.live.sending import Frames as GeminiFrames
from newel.models.openai.realtime.connection import OpenAIRealtimeConnection
from newel.models.openai.realtime.reading import Reader as OpenAIReader
from newel.models.openai.realtime.sending import Frames as OpenAIFrames
from newel.models.openai.realtime.session import manner
from newel.models.openai.realtime.turns import Turns
from newel.models.wire.names import Names
from newel.models.wire.service import Service
from newel.models.wire.sockets import LiveSocket
from newel_kernel import Json, LlmResponse
from newel_testkit.live import gemini_messages as gemini
from newel_testkit.live import openai_messages as openai
from newel_testkit.live.shapes import shapes
from newel_types import AudioTranscriptionConfig, LiveConnectConfig

SERVICE = Service("x", "m")
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
TURN_END = gemini.turn_complete()

GEMINI = st.one_of(
    st.lists(WORDS, min_size=1, max_size=2).map(lambda words: gemini.text(*words)),
    WORDS.map(lambda word: gemini.text(word, thought=True)),
    st.binary(min_size=2, max_size=8).map(gemini.audio),
    st.builds(gemini.input_text, WORDS, st.sampled_from((None, True, False))),
    st.builds(gemini.output_text, WORDS, st.sampled_from((None, True, False))),
    st.integers(0, 3).map(lambda n: gemini.tool_call(("f", {"n": n}, f"c-{n}"))),
    st.just(gemini.interrupted()),
    st.just(gemini.interrupted(turnComplete=True)),
    st.just(gemini.generation_complete()),
    st.just(gemini.usage()),
    st.just(TURN_END),
)


def of_openai(turn: tuple[str, Any]) -> list[Json]:
    kind, value = turn
    if kind == "say":
        return openai.say(*value)
    if kind == "speak":
        return openai.speak(b"\0\1" * 9, transcript=" ".join(value))
    if kind == "hear":
        return openai.input_text(*value)
    if kind == "cut":
        return [*openai.say(*value)[:6], openai.speech_started(), openai.cancelled()]
    return openai.calls(*(("f", json.dumps({"n": word}), f"c-{number}") for number, word in enumerate(value)))


OPENAI = st.tuples(
    st.sampled_from(("say", "speak", "hear", "cut", "call")), st.lists(WORDS.filter(str.strip), min_size=1, max_size=4)
).map(of_openai)

#: Values of JSON that have nothing to do with any protocol.
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def fail(code: str, what: str) -> LlmResponse:
    return LlmResponse(error_code=code, error_message=what)


def openai_reader() -> OpenAIReader:
    config = LiveConnectConfig(output_audio_transcription=AudioTranscriptionConfig())
    return OpenAIReader("m", Names(), Turns(lambda: 0.0), manner(config), fail)


def socket() -> LiveSocket:
    return LiveSocket(SimpleNamespace(transport=None), SERVICE, 1, 100)  # type: ignore[arg-type]


def check(responses: list[LlmResponse]) -> None:
    """Pieces add up to wholes; sound is whole; nothing of a turn is left when it is complete."""
    open_: dict[str, str] = {}
    for response in responses:
        for kind, value in shapes([response]):
            if kind.startswith("piece of "):
                name = kind.removeprefix("piece of ")
                open_[name] = open_.get(name, "") + str(value)
            elif kind.endswith(("text", "thought", "transcription")):
                name = kind.removeprefix("interrupted ")
                whole = open_.pop(name, None)
                heard = str(value).removesuffix("…")  # of what was cut
                assert whole is None or str(value).endswith(whole) or (heard != value and whole.startswith(heard))
            elif kind in ("turn complete", "calls"):
                assert not {"text", "thought"} & open_.keys()
            elif kind == "sound":
                assert not response.partial


@given(st.lists(GEMINI, max_size=12), st.booleans())
def test_gemini(messages: list[Json], newer: bool) -> None:
    reader = GeminiReader("m", "s", newer=newer)
    responses = [one for message in [*messages, TURN_END] for one in reader.read(message)]
    check(responses)
    calls = [call["id"] for message in messages for call in message.get("toolCall", {}).get("functionCalls", ())]
    contents = [one.content for one in responses if one.content is not None]
    told = [part.function_call.id for one in contents for part in one.parts or () if part.function_call is not None]
    assert told == calls
    said = "".join(
        part["text"]
        for message in messages
        for part in (message.get("serverContent", {}).get("modelTurn") or {}).get("parts", ())
        if "text" in part
    )
    wholes = [part.text for one in responses if not one.partial for part in _parts(one) if part.text is not None]
    assert "".join(wholes) == said


def _parts(response: LlmResponse) -> list[Any]:
    return (response.content.parts if response.content is not None else None) or []


@given(st.lists(OPENAI, max_size=5))
def test_openai(turns: list[list[Json]]) -> None:
    reader = openai_reader()
    responses = [one for turn in turns for event in turn for one in reader.read(event)]
    check(responses)
    ended = sum(event["type"] == "response.done" for turn in turns for event in turn)
    assert sum(bool(one.turn_complete) for one in responses) == ended
    assert not any(one.error_code for one in responses)


@settings(max_examples=300)
@given(JUNK, st.sampled_from(("serverContent", "toolCall", "usageMetadata", "sessionResumptionUpdate", "error", "x")))
def test_no_message_breaks_a_connection_with_gemini(junk: Any, key: str) -> None:
    reader = GeminiReader("m", "s", newer=False)
    frames = GeminiFrames("m", Dialect(False, False, False))
    connection = GeminiLiveConnection(socket(), frames, reader, initial_history=False, confirmed=False)
    for message in (junk, {key: junk}, {"serverContent": {"modelTurn": {"parts": junk}}}):
        for response in connection._read(json.dumps(message).encode()):
            assert isinstance(response, LlmResponse)


EVENTS = st.sampled_from(
    (*(event["type"] for event in openai.speak(b"\0\0", transcript="a")), "error", "x", "response.done")
)


@settings(max_examples=300)
@given(EVENTS, st.dictionaries(st.sampled_from(("response", "delta", "item_id", "error", "transcript", "x")), JUNK))
def test_no_event_breaks_a_connection_with_openai(kind: str, junk: dict[str, Any]) -> None:
    turns = Turns(lambda: 0.0)
    frames = OpenAIFrames(Names(), lambda *_: None, turns, manner(LiveConnectConfig()))
    connection = OpenAIRealtimeConnection(socket(), frames, openai_reader(), ())
    for message in ({**junk, "type": kind}, junk, [junk]):
        for response in connection._read(json.dumps(message).encode()):
            assert isinstance(response, LlmResponse)
