"""OpenAI Realtime through the real SDK: what it has otherwise than other providers."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from newel import types
from newel.models import BaseLlmConnection, LlmRequest, LlmResponse
from newel.models.kinds import model_of
from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel.models.openai.realtime.turns import Playback, Turns
from newel.models.wire.names import Names
from newel.models.wire.notices import Notice, listening
from newel.models.wire.transcripts import Transcript
from newel_compose import compose
from newel_kernel import FeatureUnavailableError, Json, ModelError, seam
from newel_testkit.live import Connection, OpenAIRealtimeServer, Wait
from newel_testkit.live import openai_messages as says
from newel_testkit.live.bench import Bench, sound, sound_turn, text_turn, turn, user
from newel_testkit.live.dialects import OpenAIDialect
from newel_testkit.live.shapes import shapes

ASKED = Wait("response.create")
CHUNK = b"\2\0" * 480
MANUAL = {"automatic_activity_detection": {"disabled": True}}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIRealtimeServer]:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    with OpenAIDialect().serving() as running:
        assert isinstance(running, OpenAIRealtimeServer)
        yield running


@asynccontextmanager
async def connected(server: OpenAIRealtimeServer, *steps: Any, **more: Any) -> AsyncIterator[BaseLlmConnection]:
    async with asyncio.timeout(120), Bench(OpenAIDialect(), server).connected(*steps, **more) as connection:
        yield connection


Say = Callable[[BaseLlmConnection], Awaitable[object]]


def talk(server: OpenAIRealtimeServer, steps: list[Any], *says_: Say, **more: Any) -> list[LlmResponse]:
    """What one call of `receive` gives after something was said."""

    async def run() -> list[LlmResponse]:
        async with connected(server, *steps, **more) as connection:
            for say in says_:
                await say(connection)
            return await turn(connection)

    return asyncio.run(run())


def hello(connection: BaseLlmConnection) -> Awaitable[None]:
    return connection.send_content(user("hi"))


def got(server: OpenAIRealtimeServer, *kinds: str) -> list[str]:
    """What the client sent, after the setup, until it left."""
    server.settle()
    return [kind for kind, _ in server.connections[0].received[1:] if not kinds or kind in kinds]


def events(server: OpenAIRealtimeServer, kind: str) -> list[Json]:
    """The events of a kind that the client sent until it left."""
    server.settle()
    return server.connections[0].of(kind)


def refused(server: OpenAIRealtimeServer) -> list[str]:
    """Why the service refused events that the client sent until it left."""
    server.settle()
    return server.connections[0].refused


def setup(server: OpenAIRealtimeServer, request: LlmRequest, **options: Any) -> Json:
    """The session that a request leads to."""

    async def run() -> Json:
        async with asyncio.timeout(120), OpenAILlm(model="gpt-realtime", **options).connect(request):
            session: Json = server.connections[0].of("session.update")[0]["session"]
            return session

    return asyncio.run(run())


def request(config: dict[str, Any] | None = None, **live: Any) -> LlmRequest:
    unary = types.GenerateContentConfig(**{"system_instruction": "Be brief.", **(config or {})})
    return LlmRequest(model="gpt-realtime", config=unary, live_connect_config=types.LiveConnectConfig(**live))


# --- the setup ----------------------------------------------------------------------------------------


def test_the_session(server: OpenAIRealtimeServer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    declared = types.FunctionDeclaration(name="look at", description="Look.", parameters_json_schema=schema)
    voice = types.VoiceConfig(prebuilt_voice_config=types.PrebuiltVoiceConfig(voice_name="Marin"))
    made = setup(
        server,
        request(
            {"tools": [types.Tool(function_declarations=[declared])], "max_output_tokens": 9_000},
            response_modalities=["AUDIO"],
            speech_config=types.SpeechConfig(voice_config=voice),
            input_audio_transcription=types.AudioTranscriptionConfig(language_codes=["de-DE"]),
            realtime_input_config=types.RealtimeInputConfig(
                automatic_activity_detection=types.AutomaticActivityDetection(
                    start_of_speech_sensitivity=types.StartSensitivity.START_SENSITIVITY_LOW,
                    silence_duration_ms=400,
                ),
                activity_handling=types.ActivityHandling.NO_INTERRUPTION,
            ),
        ),
    )
    pcm = {"type": "audio/pcm", "rate": 24_000}
    [tool] = made.pop("tools")
    assert tool == {
        "type": "function",
        "name": tool["name"],
        "description": "Look.",
        "parameters": schema,
    }
    assert tool["name"].startswith("look_at_")
    detection = {"type": "server_vad", "threshold": 0.7, "silence_duration_ms": 400, "interrupt_response": False}
    assert made == {
        "type": "realtime",
        "output_modalities": ["audio"],
        "instructions": "Be brief.",
        "max_output_tokens": 4_096,
        "audio": {
            "input": {
                "format": pcm,
                "transcription": {"model": "gpt-4o-mini-transcribe", "language": "de"},
                "turn_detection": detection,
            },
            "output": {"format": pcm, "voice": "marin"},
        },
    }
    assert server.connections[0].path == "/v1/realtime?model=gpt-realtime"


def test_the_shortest_session(server: OpenAIRealtimeServer) -> None:
    made = setup(server, request(response_modalities=["TEXT"]), transcription_model="whisper-1")
    assert made["output_modalities"] == ["text"]
    assert made["audio"]["input"]["transcription"] is None
    assert "turn_detection" not in made["audio"]["input"]


def test_what_the_service_cannot_be_told_is_said_once(server: OpenAIRealtimeServer) -> None:
    said: list[Notice] = []
    with listening(said.append):
        setup(server, request({"top_k": 3}, session_resumption=types.SessionResumptionConfig(), seed=1))
    assert sorted(one.setting for one in said) == ["seed", "session_resumption", "top_k"]


def test_a_session_that_the_service_refuses(server: OpenAIRealtimeServer) -> None:
    config = types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="ANY"))
    declared = types.FunctionDeclaration(name="f")
    made = setup(server, request({"tools": [types.Tool(function_declarations=[declared])], "tool_config": config}))
    assert made["tool_choice"] == "required"
    server.refuses["session.update"] = "No such voice."
    with pytest.raises(ModelError, match="No such voice") as caught:
        setup(server, request())
    assert caught.value.code == "invalid_value"


def test_capabilities() -> None:
    for model in (OpenAILlm(model="gpt-realtime"), OpenAIResponsesLlm(model="gpt-4o-mini-realtime-preview")):
        live = model.capabilities.live
        assert live is not None
        assert live.input_rates[:2] == (24_000, 16_000)
        assert not live.resumption
    assert OpenAILlm(model="gpt-5").capabilities.live is None


def test_other_endpoints_have_no_realtime_api() -> None:
    with pytest.raises(FeatureUnavailableError, match="'llama3' offers no live connection"):
        OpenAILlm(model="llama3", endpoint="ollama").connect(request())


def test_settings_reach_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    lines = ("openai:", "  frame_bytes: 5000", "  transcription_model: whisper-1")
    file = tmp_path / "mine.yaml"
    settings = "".join(f"  {line}\n" for line in lines)
    file.write_text(f"name: mine\nextends: standard\nautoload: false\nsettings:\n{settings}")
    model = model_of(compose(file), "openai:gpt-realtime")
    assert isinstance(model, OpenAILlm)
    assert (model.frame_bytes, model.transcription_model) == (5_000, "whisper-1")


def test_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("NEWEL_OFFLINE", "1")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    async def run() -> None:
        async with OpenAILlm(model="gpt-realtime").connect(request()):
            pass

    with pytest.raises(ModelError, match=r"api\.openai\.com"):
        asyncio.run(run())


# --- sound in -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "samples"), [(24_000, 480), (16_000, 320), (8_000, 160), (48_000, 960)])
def test_sound_is_resampled(server: OpenAIRealtimeServer, rate: int, samples: int) -> None:
    blob = types.Blob(data=b"\5\0" * samples, mime_type=f"audio/pcm;rate={rate}")
    talk(server, [Wait("input_audio_buffer.append", 5), says.say("ok")], *[lambda c: c.send_realtime(blob)] * 5)
    sent = b"".join(base64.b64decode(event["audio"]) for event in events(server, "input_audio_buffer.append"))
    assert 5 * 960 - 8 <= len(sent) <= 5 * 960
    assert set(sent[::2]) == {5}


@pytest.mark.parametrize(
    "blob",
    [
        types.Blob(data=b"x", mime_type="audio/pcm"),
        types.Blob(data=b"xx", mime_type="audio/ogg"),
        types.Blob(data=b"xx", mime_type="image/tiff"),
        types.LiveClientRealtimeInput(),
        types.ActivityStart(),
    ],
)
def test_what_the_service_does_not_take(server: OpenAIRealtimeServer, blob: object) -> None:
    async def run() -> None:
        async with connected(server) as connection:
            with pytest.raises(ValueError, match=r"takes|half a sample|disable"):
                await connection.send_realtime(blob)

    asyncio.run(run())
    assert got(server) == []


def test_the_end_of_a_stream_is_silence(server: OpenAIRealtimeServer) -> None:
    """By which the service hears that the user has ended; without sound before it there is nothing to end."""
    ended = types.LiveClientRealtimeInput(audio_stream_end=True)
    script = [Wait("input_audio_buffer.append", 2), says.say("ok")]
    talk(server, script, *(lambda c, one=one: c.send_realtime(one) for one in (ended, sound(), ended, ended)))
    sizes = [len(base64.b64decode(event["audio"])) for event in events(server, "input_audio_buffer.append")]
    assert sizes[1:] == [800 * 48]


@pytest.mark.parametrize(("chunks", "padded"), [(10, False), (2, True), (0, None)])
def test_an_utterance(server: OpenAIRealtimeServer, chunks: int, padded: bool | None) -> None:
    """Less than 100 ms is filled up with silence; nothing is not answered."""
    sent = [types.ActivityStart(), *[sound()] * chunks, types.ActivityEnd(), user("so?")]

    async def run() -> None:
        async with connected(server, ASKED, says.say("ok"), realtime_input_config=MANUAL) as connection:
            for one in sent:
                content = isinstance(one, types.Content)
                await (connection.send_content(one) if content else connection.send_realtime(one))  # type: ignore[arg-type]
            await turn(connection)

    asyncio.run(run())
    kinds = got(server, "input_audio_buffer.append", "input_audio_buffer.commit")
    assert kinds.count("input_audio_buffer.commit") == (padded is not None)
    assert kinds.count("input_audio_buffer.append") == chunks + bool(padded)


def test_what_was_said_before_an_activity_is_forgotten(server: OpenAIRealtimeServer) -> None:
    script = [Wait("input_audio_buffer.clear"), says.say("ok")]
    talk(
        server,
        script,
        lambda c: c.send_realtime(sound()),
        lambda c: c.send_realtime(types.ActivityStart()),
        realtime_input_config=MANUAL,
    )


def test_an_image_is_seen_with_the_next_turn(server: OpenAIRealtimeServer) -> None:
    image = types.Blob(data=b"\xff\xd8", mime_type="image/jpeg")
    talk(server, [ASKED, says.say("a cat")], lambda c: c.send_realtime(image), hello)
    assert got(server) == ["conversation.item.create", "conversation.item.create", "response.create"]
    [part] = events(server, "conversation.item.create")[0]["item"]["content"]
    assert part == {"type": "input_image", "image_url": "data:image/jpeg;base64,/9g="}


@pytest.fixture
def _slow_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes, so that what is playing goes on, however busy the machine."""
    now = seam.monotonic()
    monkeypatch.setattr(seam, "monotonic", lambda: now)


# --- turns --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_slow_listener")
def test_speech_interrupts_and_what_was_not_heard_is_truncated(server: OpenAIRealtimeServer) -> None:
    whole = says.speak(CHUNK * 100, CHUNK * 100, transcript="Once upon")
    late = [*whole[5:6], says.speech_stopped()]  # sound that was on its way
    script = [ASKED, whole[:5], says.speech_started(), late, says.cancelled(), Wait("conversation.item.truncate")]
    responses = talk(server, [*script, says.say("Yes?")], hello, modality="AUDIO")
    assert shapes(responses) == [
        ("sound", CHUNK * 100),
        ("interrupted", True),
        ("usage metadata", True),
        ("turn complete", True),
    ]
    [truncate] = events(server, "conversation.item.truncate")
    assert (truncate["item_id"], truncate["content_index"]) == ("item_a", 0)
    assert 0 <= truncate["audio_end_ms"] < 2_000


@pytest.mark.usefixtures("_slow_listener")
def test_speech_over_sound_that_is_still_playing_interrupts(server: OpenAIRealtimeServer) -> None:
    """The service has sent all of it, so nothing is cancelled."""

    async def run() -> list[LlmResponse]:
        spoken = says.speak(CHUNK * 100, transcript="Once")
        script = [ASKED, spoken, says.speech_started(), says.say("Yes?")]
        async with connected(server, *script, modality="AUDIO") as connection:
            await hello(connection)
            await turn(connection)
            return await turn(connection)

    unheard = ("output transcription", " [interrupted; the listener heard nothing of it]")
    assert shapes(asyncio.run(run())) == [unheard, ("interrupted", True), *text_turn("Yes?")]
    assert got(server, "conversation.item.truncate", "response.cancel") == ["conversation.item.truncate"]


def test_a_service_that_is_not_to_be_interrupted(server: OpenAIRealtimeServer) -> None:
    whole = says.speak(CHUNK * 100, transcript="Once")
    script = [ASKED, whole[:5], says.speech_started(), whole[5:]]
    handling = {"activity_handling": "NO_INTERRUPTION"}
    responses = talk(server, script, hello, modality="AUDIO", realtime_input_config=handling)
    assert shapes(responses) == sound_turn(CHUNK * 100, transcript=("Once",))


@pytest.mark.usefixtures("_slow_listener")
def test_an_activity_silences_what_is_still_playing(server: OpenAIRealtimeServer) -> None:
    async def run() -> list[LlmResponse]:
        spoken = says.speak(CHUNK * 100, transcript="Once")
        script = [ASKED, spoken, Wait("conversation.item.truncate"), says.say("Yes?")]
        async with connected(server, *script, modality="AUDIO", realtime_input_config=MANUAL) as connection:
            await hello(connection)
            await turn(connection)
            await connection.send_realtime(types.ActivityStart())
            return await turn(connection)

    unheard = ("output transcription", " [interrupted; the listener heard nothing of it]")
    assert shapes(asyncio.run(run())) == [unheard, ("interrupted", True), *text_turn("Yes?")]


def test_what_the_user_types_interrupts(server: OpenAIRealtimeServer) -> None:
    """The next response is asked for when the present one is done: the service makes one at a time."""

    async def run() -> list[LlmResponse]:
        script = [ASKED, says.say("I was", " saying")[:6], Wait("response.cancel"), ASKED, says.say("Yes?")]
        async with connected(server, *script) as connection:
            await hello(connection)
            receiving = connection.receive()
            first = [await anext(receiving)]
            await connection.send_content(user("wait"))
            first += [response async for response in receiving]
            return [*first, *await turn(connection)]

    assert shapes(asyncio.run(run())) == [
        ("piece of text", "I was"),
        ("piece of text", " saying"),
        ("usage metadata", True),
        ("interrupted text", "I was saying"),
        ("turn complete", True),
        *text_turn("Yes?"),
    ]
    assert refused(server) == []


class _Refusal:
    """A step that waits until the service has refused something."""

    async def play(self, connection: Connection) -> None:
        while not connection.refused:
            connection.changed.clear()
            await connection.changed.wait()


def test_a_response_that_the_service_began_by_itself(server: OpenAIRealtimeServer) -> None:
    """Ours is refused meanwhile, which is no error, and asked for again."""
    begun = says.say("I heard you.")

    async def run() -> list[LlmResponse]:
        script = [begun[:1], _Refusal(), begun[1:], ASKED, says.say("And yes.")]
        async with connected(server, *script) as connection:
            await hello(connection)
            return [*await turn(connection), *await turn(connection)]

    assert shapes(asyncio.run(run())) == [*text_turn("I heard you."), *text_turn("And yes.")]
    assert len(refused(server)) == 1


def test_a_cancellation_that_comes_too_late_is_no_error(server: OpenAIRealtimeServer) -> None:
    late = says.error("no active response found", "response_cancel_not_active")
    late["error"]["event_id"] = "newel_late_1"
    assert shapes(talk(server, [ASKED, late, says.say("ok")], hello)) == text_turn("ok")


def test_results_say_when_they_are_to_be_answered(server: OpenAIRealtimeServer) -> None:
    def result(scheduling: str, value: int) -> types.Content:
        response = types.FunctionResponse(
            id="c-1", name="add", response={"sum": value}, scheduling=types.FunctionResponseScheduling(scheduling)
        )
        return types.Content(role="user", parts=[types.Part(function_response=response)])

    async def run() -> list[LlmResponse]:
        script = [ASKED, says.call("add", "{}", "c-1"), ASKED, says.say("two")]
        async with connected(server, *script) as connection:
            await hello(connection)
            await turn(connection)
            await connection.send_content(result("SILENT", 1))
            await connection.send_content(result("WHEN_IDLE", 2))
            return await turn(connection)

    assert shapes(asyncio.run(run())) == text_turn("two")
    first, further = [event["item"] for event in events(server, "conversation.item.create")][1:]
    assert first == {"type": "function_call_output", "call_id": "c-1", "output": '{"sum":1}'}
    assert (further["role"], further["content"][0]["text"]) == ("system", 'Further result of add (call c-1): {"sum":2}')


def test_arguments_that_are_no_object_are_an_error(server: OpenAIRealtimeServer) -> None:
    script = [ASKED, says.calls(("add", "[1", "c-1"), ("add", '{"a": 2}', "c-2"))]
    assert shapes(talk(server, script, hello)) == [
        ("usage metadata", True),
        ("error", "MALFORMED_FUNCTION_CALL"),
        ("calls", [("add", {"a": 2})]),
        ("turn complete", True),
    ]


def test_a_response_that_failed_or_was_cut_short(server: OpenAIRealtimeServer) -> None:
    failed = says.say("half", status="failed")
    error = {"code": "rate_limit_exceeded", "message": "x"}
    failed[-1]["response"]["status_details"] = {"type": "failed", "error": error}
    short = says.say("half", status="incomplete")
    short[-1]["response"]["status_details"] = {"type": "incomplete", "reason": "max_output_tokens"}
    assert ("error", "rate_limit_exceeded") in shapes(talk(server, [ASKED, failed], hello))
    assert talk(server, [ASKED, short], hello)[-1].finish_reason is types.FinishReason.MAX_TOKENS


def test_speech_that_cannot_be_transcribed(server: OpenAIRealtimeServer) -> None:
    kind = "conversation.item.input_audio_transcription.failed"
    error = {"code": "audio_unintelligible", "message": "?"}
    event = {"type": kind, "item_id": "u", "content_index": 0, "error": error}
    assert shapes(talk(server, [ASKED, event, says.say("ok")], hello))[0] == ("error", "audio_unintelligible")


def test_activity_is_told_where_it_is_asked_for(server: OpenAIRealtimeServer) -> None:
    script = [says.speech_started(), says.speech_stopped(), says.say("ok")]
    responses = talk(server, script, explicit_vad_signal=True)
    assert shapes(responses) == [("voice activity", True), ("voice activity", True), *text_turn("ok")]


def test_names_and_history(server: OpenAIRealtimeServer) -> None:
    """Names are legal on the way out and the agent's own on the way back."""
    declared = types.FunctionDeclaration(name="look.at", description="Look.")
    asked = request({"tools": [types.Tool(function_declarations=[declared])]}, response_modalities=["TEXT"])

    async def run() -> list[LlmResponse]:
        async with asyncio.timeout(120), OpenAILlm(model="gpt-realtime").connect(asked) as connection:
            history = [
                user("one"),
                types.Content(role="model", parts=[types.Part.from_function_call(name="look.at", args={})]),
            ]
            await connection.send_history(history)
            await hello(connection)
            return await turn(connection)

    name = Names().out("look.at")
    server.connection(Wait("conversation.item.create", 3), ASKED, *says.call(name, "{}", "c-1"))
    shown = shapes(asyncio.run(run()))
    assert ("calls", [("look.at", {})]) in shown
    _, call, output, _ = [event["item"] for event in events(server, "conversation.item.create")]
    assert call["name"] == name == events(server, "session.update")[0]["session"]["tools"][0]["name"]
    assert output["call_id"] == call["call_id"]
    assert "no result" in output["output"]


def test_the_server_without_a_script(server: OpenAIRealtimeServer) -> None:
    async def run() -> list[LlmResponse]:
        bench = Bench(OpenAIDialect(), server)
        async with asyncio.timeout(120), bench.dialect.model(server).connect(bench.request("AUDIO")) as connection:
            await hello(connection)
            return await turn(connection)

    end = [("output transcription", "You said: hi"), ("usage metadata", True), ("turn complete", True)]
    assert shapes(asyncio.run(run()))[-3:] == end


# --- whose turn it is ---------------------------------------------------------------------------------


def test_what_was_heard() -> None:
    playback = Playback()
    playback.add("a", 0, 48_000, now=10.0)  # one second
    assert playback.is_on(10.9)
    playback.add("a", 0, 48_000, now=10.1)
    assert playback.is_on(11.9)
    playback.add("a", 0, 48_000, now=20.0)  # after a pause
    assert playback.stop(20.5) == ("a", 0, 2_500)
    assert playback.stop(20.6) is None
    playback.add("b", 1, 4_800, now=30.0)
    assert playback.stop(31.0) is None


def test_one_response_at_a_time() -> None:
    turns = Turns(lambda: 0.0)
    create = [{"type": "response.create"}]
    assert turns.ask() == create
    assert turns.ask() == []
    turns.begun()
    assert turns.ask() == []
    assert turns.done() == create
    assert turns.done() == []
    assert turns.interrupt() != []


@pytest.mark.parametrize(
    ("share", "before_its_end", "after_it"),
    [
        (0.0, "…", " [interrupted; the listener heard nothing of it]"),
        (0.5, "Your balance…", " [interrupted; the listener heard only: Your balance…]"),
        (1.0, "Your balance is five euros.…", " [interrupted; the listener heard only: Your balance is five euros.…]"),
    ],
)
def test_a_transcript_claims_what_was_heard(share: float, before_its_end: str, after_it: str) -> None:
    for whole, expected in ((False, before_its_end), (True, after_it)):
        transcript = Transcript("output", LlmResponse)
        for word in ("Your ", "balance ", "is ", "five ", "euros."):
            transcript.piece(word)
        if whole:
            transcript.finish()
        (cut,) = transcript.cut(share)
        assert (cut.output_transcription.text, cut.partial) == (expected, False)
        assert transcript.cut(share) == transcript.finish() == []
    transcript.piece("x")
    transcript.finish()
    transcript.begin()
    assert transcript.cut(share) == []
