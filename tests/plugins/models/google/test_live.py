"""Gemini Live through the real SDK, against the local service."""

from __future__ import annotations

import asyncio
import base64
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from google.genai.types import LiveConnectConfig

from newel import types
from newel.models import BaseLlm, BaseLlmConnection, Gemini, LiveCapabilities, LlmRequest, LlmResponse
from newel.models.google.history import Dialect
from newel.models.google.live.reading import Reader as GeminiReader
from newel.models.google.live.sending import Frames
from newel.models.google.live.setup import setup, supported
from newel.models.kinds import model_of
from newel.models.live import CONNECTION_NUMBER, ConnectionLostError
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import ConfigurationError, FeatureUnavailableError, ModelError
from newel_testkit.live import Close, Connection, Drop, GeminiLiveServer, Pause, Raw, Stall, Wait
from newel_testkit.live import gemini_messages as says

MODEL = "gemini-live-2.5-flash"
NEWER = "gemini-3.1-flash-live-preview"
KEY = "test-key-0123456789"
SOUND = types.Blob(data=b"\1\0" * 320, mime_type="audio/pcm;rate=16000")
ASKED = Wait("clientContent")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiLiveServer]:
    with GeminiLiveServer(api_key=KEY) as running:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", running.url)
        monkeypatch.setenv("SSL_CERT_FILE", running.ca_file)
        monkeypatch.setenv("GOOGLE_API_KEY", KEY)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for name in ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"):
            monkeypatch.delenv(name, raising=False)
        yield running


def user(*parts: str | types.Part) -> types.Content:
    made = [types.Part(text=part) if isinstance(part, str) else part for part in parts]
    return types.Content(role="user", parts=made)


def request(model: str = MODEL, config: dict[str, Any] | None = None, **live: Any) -> LlmRequest:
    live.setdefault("response_modalities", ["TEXT"])
    unary = types.GenerateContentConfig(**{"system_instruction": "Be brief.", **(config or {})})
    made = LlmRequest(model=model, config=unary, live_connect_config=types.LiveConnectConfig(**live))
    made.stash[CONNECTION_NUMBER] = 3
    return made


@asynccontextmanager
async def connected(asked: LlmRequest | None = None, **model: Any) -> AsyncIterator[BaseLlmConnection]:
    asked = asked or request()
    gemini = Gemini(model=asked.model or MODEL, **model)
    async with asyncio.timeout(120), gemini.connect(asked) as connection:
        yield connection


async def received(connection: BaseLlmConnection) -> list[LlmResponse]:
    return [response async for response in connection.receive()]


def talk(
    *says_: Callable[[BaseLlmConnection], Awaitable[object]], asked: LlmRequest | None = None, **model: Any
) -> list[LlmResponse]:
    """What one call of `receive` gives after something was said."""

    async def run() -> list[LlmResponse]:
        async with connected(asked, **model) as connection:
            for say in says_:
                await say(connection)
            return await received(connection)

    return asyncio.run(run())


def hello(connection: BaseLlmConnection) -> Awaitable[None]:
    return connection.send_content(user("hi"))


def got(server: GeminiLiveServer, kind: str, connection: int = 0) -> list[Any]:
    """The messages of a kind that the client sent until it left."""
    server.settle()
    return [message[kind] for message in server.connections[connection].of(kind)]


def shown(responses: list[LlmResponse]) -> list[tuple[str, object]]:
    """What each response holds."""
    out: list[tuple[str, object]] = []
    for one in responses:
        part = one.content.parts[0] if one.content is not None and one.content.parts else None
        if one.input_transcription is not None:
            out.append(("heard", (one.input_transcription.text, one.partial)))
        elif one.output_transcription is not None:
            out.append(("spoken", (one.output_transcription.text, one.partial)))
        elif part is not None and part.inline_data is not None:
            out.append(("sound", len(part.inline_data.data or b"")))
        elif part is not None and part.function_call is not None:
            assert one.content is not None
            calls = [part.function_call for part in one.content.parts or () if part.function_call is not None]
            out.append(("calls", [(call.name, call.args, call.id) for call in calls]))
        elif part is not None:
            kind = "thought" if part.thought else "text"
            out.append((kind if not one.interrupted else f"interrupted {kind}", (part.text, one.partial)))
        elif one.error_code:
            out.append(("error", one.error_code))
        else:
            names = (
                "usage_metadata",
                "interrupted",
                "turn_complete",
                "go_away",
                "live_session_resumption_update",
                "voice_activity",
                "tool_call_cancellation",
                "grounding_metadata",
            )
            out.extend((name, True) for name in names if getattr(one, name))
    return out


# --- what the service says ----------------------------------------------------------------------------


def test_text_comes_in_pieces_and_whole(server: GeminiLiveServer) -> None:
    end = {**says.turn_complete(), **says.usage(4, 2)}
    server.connection(ASKED, says.text("Hel"), says.text("lo"), says.generation_complete(), end)
    responses = talk(hello)
    assert shown(responses) == [
        ("text", ("Hel", True)),
        ("text", ("lo", True)),
        ("usage_metadata", True),
        ("text", ("Hello", False)),
        ("turn_complete", True),
    ]
    usage = responses[2].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count) == (4, 2, 6)
    assert {one.live_session_id for one in responses} == {"session-1"}
    server.settle()
    assert not server.problems


def test_a_thought_is_a_whole_of_its_own(server: GeminiLiveServer) -> None:
    server.connection(
        ASKED, says.text("h", thought=True), says.text("m", thought=True), says.text("Yes"), says.turn_complete()
    )
    assert shown(talk(hello)) == [
        ("thought", ("h", True)),
        ("thought", ("m", True)),
        ("thought", ("hm", False)),
        ("text", ("Yes", True)),
        ("text", ("Yes", False)),
        ("turn_complete", True),
    ]


def test_sound_and_transcriptions(server: GeminiLiveServer) -> None:
    server.connection(
        Wait("realtimeInput", 2),
        says.input_text("what"),
        says.input_text(" now"),
        says.audio(b"\0\1" * 8),
        says.output_text("no"),
        says.output_text("thing"),
        says.generation_complete(),
        says.turn_complete(),
    )
    listened = request(response_modalities=["AUDIO"], input_audio_transcription=types.AudioTranscriptionConfig())
    responses = talk(lambda c: c.send_realtime(SOUND), lambda c: c.send_realtime(SOUND), asked=listened)
    assert shown(responses) == [
        ("heard", ("what", True)),
        ("heard", (" now", True)),
        ("sound", 16),
        ("spoken", ("no", True)),
        ("spoken", ("thing", True)),
        ("heard", ("what now", False)),
        ("spoken", ("nothing", False)),
        ("turn_complete", True),
    ]
    blob = responses[2].content.parts[0].inline_data  # type: ignore[union-attr,index]
    assert blob is not None
    assert (blob.data, blob.mime_type) == (b"\0\1" * 8, "audio/pcm;rate=24000")


def test_a_finished_transcription_is_not_told_twice(server: GeminiLiveServer) -> None:
    pieces = says.input_text("a", finished=True), says.output_text("b", finished=True)
    server.connection(ASKED, *pieces, says.turn_complete())
    assert shown(talk(hello))[:4] == [
        ("heard", ("a", True)),
        ("heard", ("a", False)),
        ("spoken", ("b", True)),
        ("spoken", ("b", False)),
    ]


@pytest.mark.parametrize("end", [Close(1011, "gone"), Close(1008, "no"), Drop()], ids=["loss", "refusal", "cut"])
def test_open_transcriptions_are_told_before_the_end_of_a_connection(server: GeminiLiveServer, end: object) -> None:
    server.connection(ASKED, says.input_text("what"), says.input_text(" now"), says.output_text("so f"), end)
    responses: list[LlmResponse] = []

    async def listen() -> None:
        async with connected() as connection:
            await connection.send_content(user("hi"))
            async for response in connection.receive():
                responses.append(response)

    with suppress(ConnectionLostError):
        asyncio.run(listen())
    told = [one for one in responses if not one.partial]
    assert [one.input_transcription.text for one in told if one.input_transcription] == ["what now"]
    assert [one.output_transcription.text for one in told if one.output_transcription] == ["so f…"]


def test_newer_models_send_one_final_input_transcription(server: GeminiLiveServer) -> None:
    server.connection(Wait("realtimeInput"), says.input_text("all of it"), says.turn_complete())
    assert shown(talk(hello, asked=request(NEWER))) == [("heard", ("all of it", False)), ("turn_complete", True)]


@pytest.mark.parametrize("together", [False, True])
def test_an_interruption_ends_the_text(server: GeminiLiveServer, together: bool) -> None:
    end = [says.turn_complete(interrupted=True)] if together else [says.interrupted(), says.turn_complete()]
    server.connection(ASKED, says.text("I was"), *end)
    responses = talk(hello)
    assert shown(responses)[:2] == [("text", ("I was", True)), ("interrupted text", ("I was", False))]
    assert responses[-1].turn_complete
    assert bool(responses[-1].interrupted) is together


def test_an_interruption_without_text(server: GeminiLiveServer) -> None:
    server.connection(ASKED, says.audio(b"\0\1"), says.output_text("I w"), says.interrupted(), says.turn_complete())
    assert shown(talk(hello)) == [
        ("sound", 2),
        ("spoken", ("I w", True)),
        ("spoken", ("I w", False)),
        ("interrupted", True),
        ("turn_complete", True),
    ]


def test_calls_of_a_turn_are_one_response(server: GeminiLiveServer) -> None:
    server.connection(
        ASKED,
        says.text("Let me see."),
        says.tool_call(("add", {"a": 1}, "c-1")),
        says.tool_call(("add", {"a": 2}, "c-2")),
        says.turn_complete(),
        Wait("toolResponse"),
        says.text("3"),
        says.turn_complete(),
    )

    async def run() -> tuple[list[LlmResponse], list[LlmResponse]]:
        async with connected() as connection:
            await hello(connection)
            first = await received(connection)
            results = [
                types.Part(function_response=types.FunctionResponse(id=f"c-{n}", name="add", response={"sum": n}))
                for n in (1, 2)
            ]
            await connection.send_content(types.Content(role="user", parts=results))
            return first, await received(connection)

    first, second = asyncio.run(run())
    calls = [("add", {"a": 1}, "c-1"), ("add", {"a": 2}, "c-2")]
    assert shown(first)[1:] == [("text", ("Let me see.", False)), ("calls", calls), ("turn_complete", True)]
    assert shown(second)[-2:] == [("text", ("3", False)), ("turn_complete", True)]
    [answer] = got(server, "toolResponse")
    results = [(one["id"], one["response"]) for one in answer["functionResponses"]]
    assert results == [("c-1", {"sum": 1}), ("c-2", {"sum": 2})]
    server.settle()
    assert server.connections[0].refused == []


def test_calls_do_not_wait_for_a_turn_that_waits_for_them(server: GeminiLiveServer) -> None:
    server.connection(ASKED, says.tool_call(("add", {}, "c-1")), Pause(60))

    async def run() -> LlmResponse:
        async with connected() as connection:
            await hello(connection)
            return await anext(connection.receive())

    assert shown([asyncio.run(run())]) == [("calls", [("add", {}, "c-1")])]


def test_calls_of_newer_models_come_at_once(server: GeminiLiveServer) -> None:
    server.connection(
        Wait("realtimeInput"), says.tool_call(("f", {}, "c-1")), says.tool_call(("g", {}, "c-2")), says.turn_complete()
    )
    assert [kind for kind, _ in shown(talk(hello, asked=request(NEWER)))] == ["calls", "calls", "turn_complete"]


def test_a_cancelled_call(server: GeminiLiveServer) -> None:
    calls = says.tool_call(("f", {}, "c-1"), ("g", {}, "c-2"))
    server.connection(
        ASKED, calls, says.tool_cancel("c-2"), says.turn_complete(), says.tool_cancel("c-1"), says.turn_complete()
    )

    async def run() -> list[LlmResponse]:
        async with connected() as connection:
            await hello(connection)
            return [*await received(connection), *await received(connection)]

    responses = asyncio.run(run())
    assert shown(responses)[0] == ("calls", [("f", {}, "c-1")])
    cancellation = responses[2].tool_call_cancellation
    assert cancellation is not None
    assert cancellation.ids == ["c-1"]


def test_handles_go_away_and_activity(server: GeminiLiveServer) -> None:
    signal = {"voiceActivityDetectionSignal": {"vadSignalType": "VAD_SIGNAL_TYPE_SOS"}}
    activity = {"voiceActivity": {"voiceActivityType": "ACTIVITY_END"}}
    server.connection(ASKED, says.resumption("h-1"), says.go_away(2), signal, activity, says.turn_complete())
    responses = talk(hello, asked=request(session_resumption=types.SessionResumptionConfig()))
    update, away = responses[0].live_session_resumption_update, responses[1].go_away
    assert update is not None
    assert (update.new_handle, update.resumable) == ("h-1", True)
    assert away is not None
    assert away.time_left == "2s"
    kinds = [one.voice_activity.voice_activity_type for one in responses[2:4] if one.voice_activity is not None]
    assert [kind.value for kind in kinds if kind is not None] == ["ACTIVITY_START", "ACTIVITY_END"]


def test_what_was_taken_is_counted_in_inputs(server: GeminiLiveServer) -> None:
    server.connection(
        Wait("realtimeInput", 2),
        says.resumption("h", consumed=1),
        says.turn_complete(),
        says.resumption("h", consumed=3),
        says.turn_complete(),
    )

    async def run() -> list[int | None]:
        async with connected() as connection:
            taken = [connection.inputs_taken]
            await connection.send_history([user("before")])
            await connection.send_realtime(SOUND)
            await connection.send_realtime(SOUND)
            for _ in range(2):
                await received(connection)
                taken.append(connection.inputs_taken)
            return taken

    assert asyncio.run(run()) == [None, 1, 3]


def test_history_that_is_empty_is_an_input_all_the_same(server: GeminiLiveServer) -> None:
    server.connection(Wait("realtimeInput"), says.resumption("h", consumed=1), says.turn_complete())

    async def run() -> int | None:
        async with connected() as connection:
            await connection.send_history([])
            await connection.send_realtime(SOUND)
            await received(connection)
            return connection.inputs_taken

    assert asyncio.run(run()) == 2


def test_what_has_arrived_is_known_where_a_session_can_be_resumed(server: GeminiLiveServer) -> None:
    """By the answers to pings; so few inputs are on their way that a cut costs none."""
    server.keep = 10_000
    resumable = request(session_resumption=types.SessionResumptionConfig(), response_modalities=["AUDIO"])
    server.connection(Wait("realtimeInput", 300), Drop())

    async def run() -> tuple[int | None, int]:
        sent: list[int] = []
        async with connected(resumable) as connection:
            assert connection.inputs_taken == 0
            with pytest.raises(ConnectionError):
                await _many(connection, sent)
            return connection.inputs_taken, len(sent)

    known, sent = asyncio.run(run())
    assert known is not None
    server.settle()
    taken = server.connections[0].counts["realtimeInput"]
    assert known <= sent <= known + 64
    assert taken <= sent
    assert taken - 64 <= known <= taken + 1


def test_pings_can_be_turned_off(server: GeminiLiveServer) -> None:
    server.connection(Wait("realtimeInput", 2), says.turn_complete())
    resumable = request(session_resumption=types.SessionResumptionConfig())

    async def run() -> int | None:
        async with connected(resumable, confirm_input=False) as connection:
            await connection.send_realtime(SOUND)
            await connection.send_realtime(SOUND)
            await received(connection)
            return connection.inputs_taken

    assert asyncio.run(run()) is None


def test_waiting_for_room_can_be_cancelled(server: GeminiLiveServer) -> None:
    """What was not sent then was not sent at all."""
    server.connection(Stall())
    resumable = request(session_resumption=types.SessionResumptionConfig())

    async def run() -> None:
        async with connected(resumable) as connection:
            await connection.send_realtime(SOUND)
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(_many(connection, []), 0.1)
            assert connection.inputs_taken == 0

    asyncio.run(run())


async def _many(connection: BaseLlmConnection, sent: list[int]) -> None:
    for number in range(1_000):
        await connection.send_realtime(SOUND)
        sent.append(number)


# --- what the user says -------------------------------------------------------------------------------


def test_the_setup(server: GeminiLiveServer) -> None:
    declared = types.FunctionDeclaration(name="look", behavior=types.Behavior.NON_BLOCKING)
    asked = request(
        config={"temperature": 0.25, "tools": [types.Tool(function_declarations=[declared])]},
        response_modalities=["AUDIO"],
        output_audio_transcription=types.AudioTranscriptionConfig(),
        session_resumption=types.SessionResumptionConfig(transparent=True),
        speech_config=types.SpeechConfig(language_code="de-DE"),
    )
    server.connection(says.turn_complete())
    talk(asked=asked, speech_config=types.SpeechConfig(language_code="en-GB"))
    [setup_] = got(server, "setup")
    assert setup_["model"] == f"models/{MODEL}"
    assert setup_["generationConfig"] == {
        "responseModalities": ["AUDIO"],
        "temperature": 0.25,
        "speechConfig": {"languageCode": "en-GB"},
    }
    assert setup_["systemInstruction"] == {"role": "system", "parts": [{"text": "Be brief."}]}
    assert setup_["tools"] == [{"functionDeclarations": [{"name": "look", "behavior": "NON_BLOCKING"}]}]
    assert setup_["outputAudioTranscription"] == {}
    assert setup_["sessionResumption"] == {}  # the Gemini API refuses a transparent one
    path = server.connections[0].path
    assert path == "/ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContent"


def test_the_setup_on_vertex_ai() -> None:
    declared = types.FunctionDeclaration(name="look", behavior=types.Behavior.NON_BLOCKING)
    asked = request(
        config={"tools": [types.Tool(function_declarations=[declared])]},
        labels={"team": "a"},
        session_resumption=types.SessionResumptionConfig(handle="h"),
    )
    said: list[str] = []
    made = setup(asked, None, lambda setting, text: said.append(setting), vertex=True)
    assert made["session_resumption"] == {"handle": "h", "transparent": True}
    assert made["labels"] == {"team": "a"}
    assert made["tools"] == [{"function_declarations": [{"name": "look"}]}]
    assert said == ["behavior"]


def test_what_an_older_sdk_cannot_say_is_left_out_and_said() -> None:
    said: list[tuple[str, str]] = []
    made = supported({"seed": 1, "labels": {"a": "b"}}, {"seed"}, lambda setting, text: said.append((setting, text)))
    assert made == {"seed": 1}
    [(setting, text)] = said
    assert setting == "labels"
    assert "pip install -U google-genai" in text


def test_realtime_input(server: GeminiLiveServer) -> None:
    manual = types.RealtimeInputConfig(automatic_activity_detection=types.AutomaticActivityDetection(disabled=True))
    image = types.Blob(data=b"\xff\xd8", mime_type="image/jpeg")
    server.connection(Wait("realtimeInput", 5), says.turn_complete())
    ended = types.LiveClientRealtimeInput(audio_stream_end=True)
    sent = (types.ActivityStart(), SOUND, image, types.ActivityEnd(), ended)
    talk(*(lambda c, one=one: c.send_realtime(one) for one in sent), asked=request(realtime_input_config=manual))
    sound = base64.b64encode(SOUND.data or b"").decode()
    assert got(server, "realtimeInput") == [
        {"activityStart": {}},
        {"mediaChunks": [{"data": sound, "mimeType": "audio/pcm;rate=16000"}]},
        {"mediaChunks": [{"data": "/9g=", "mimeType": "image/jpeg"}]},
        {"activityEnd": {}},
        {"audioStreamEnd": True},
    ]


def test_newer_models_have_a_field_for_each_medium(server: GeminiLiveServer) -> None:
    server.connection(Wait("realtimeInput", 3), says.turn_complete())
    image = types.Blob(data=b"\xff\xd8", mime_type="image/jpeg")
    talk(lambda c: c.send_realtime(SOUND), lambda c: c.send_realtime(image), hello, asked=request(NEWER))
    assert [sorted(one) for one in got(server, "realtimeInput")] == [["audio"], ["video"], ["text"]]


def test_content_that_is_not_all_of_a_turn(server: GeminiLiveServer) -> None:
    server.connection(Wait("clientContent", 2), says.turn_complete())
    talk(lambda c: c.send_partial(user("one")), lambda c: c.send_content(user("two")))
    assert [one["turnComplete"] for one in got(server, "clientContent")] == [False, True]


def test_history(server: GeminiLiveServer) -> None:
    heard = types.Part(file_data=types.FileData(file_uri="artifact://a/u/s/_adk_live/x#0", mime_type="image/png"))
    history = [
        user("one", types.Part(inline_data=SOUND)),
        types.Content(role="model", parts=[types.Part.from_function_call(name="f", args={"x": 1})]),
        types.Content(role="user", parts=[types.Part.from_function_response(name="f", response={"r": 1})]),
        types.Content(role="model", parts=[types.Part(text="two")]),
        user(heard),
    ]
    server.connection(ASKED, says.turn_complete())
    talk(lambda c: c.send_history(history))
    [content] = got(server, "clientContent")
    assert content["turnComplete"] is False
    assert [turn["role"] for turn in content["turns"]] == ["user", "model", "user", "model"]
    assert content["turns"][0]["parts"] == [{"text": "one"}]


@pytest.mark.skipif("history_config" not in LiveConnectConfig.model_fields, reason="the SDK is older")
def test_newer_models_are_told_to_answer_announced_history(server: GeminiLiveServer) -> None:
    server.connection(ASKED, Wait("realtimeInput"), says.turn_complete())
    announced = types.HistoryConfig(initial_history_in_client_content=True)
    talk(lambda c: c.send_history([user("one")]), asked=request(NEWER, history_config=announced))
    assert got(server, "realtimeInput") == [{"text": "."}]


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (MODEL, types.Content(role="user", parts=[types.Part(text="x")])),
        (MODEL, types.LiveClientRealtimeInput()),
        (NEWER, types.Blob(data=b"%PDF", mime_type="application/pdf")),
    ],
)
def test_what_is_no_realtime_input(model: str, value: object) -> None:
    frames = Frames(model, Dialect(False, False, False))
    with pytest.raises(ValueError, match="Gemini Live takes"):
        frames.realtime(value)


def test_content_of_which_nothing_can_be_sent() -> None:
    with pytest.raises(ValueError, match="sound as a Blob"):
        Frames(MODEL, Dialect(False, False, False)).content(user(types.Part(inline_data=SOUND)), partial=False)


# --- what goes wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [1000, 1001, 1011])
def test_a_close_is_a_loss(server: GeminiLiveServer, code: int) -> None:
    server.connection(ASKED, says.text("half"), Close(code, f"own: {KEY}"))
    with pytest.raises(ConnectionLostError, match=rf"connection 3 .* was lost with code {code}") as caught:
        talk(hello)
    assert caught.value.code == code
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("code", [1007, 1008, 4001])
def test_a_refusal_is_a_response(server: GeminiLiveServer, code: int) -> None:
    server.connection(ASKED, Close(code, f"own: {KEY}"))

    async def run() -> list[LlmResponse]:
        async with connected() as connection:
            await hello(connection)
            refused = await received(connection)
            assert await received(connection) == []
            with pytest.raises(ConnectionError):
                await hello(connection)
            return refused

    [refused] = asyncio.run(run())
    assert refused.error_code == str(code)
    start = f"gemini ({MODEL}) closed the connection with {code}: own: [api key] (connection 3); "
    assert str(refused.error_message).startswith(start)


def test_a_cut(server: GeminiLiveServer) -> None:
    server.connection(ASKED, says.text("half"), Drop())
    with pytest.raises(ConnectionLostError) as caught:
        talk(hello)
    assert caught.value.code == 1006


@pytest.mark.parametrize(
    "frame",
    [
        b'{"serverContent": {',
        b"[1]",
        b"\xff\xfe",
        b'{"serverContent": {"turnComplete": "maybe?"}}',
        b'{"serverContent": {"modelTurn": {"parts": [{"inlineData": {"data": "*", "mimeType": "a/b"}}]}}}',
        b'{"serverContent": 5}',
    ],
)
def test_a_malformed_message_is_left_out(server: GeminiLiveServer, frame: bytes) -> None:
    server.connection(ASKED, Raw(frame), says.text("after"), says.turn_complete())
    responses = talk(hello)
    assert shown(responses) == [
        ("error", "MALFORMED_RESPONSE"),
        ("text", ("after", True)),
        ("text", ("after", False)),
        ("turn_complete", True),
    ]
    assert "connection 3" in str(responses[0].error_message)


def test_unknown_messages_are_told_once_and_unknown_fields_never(server: GeminiLiveServer) -> None:
    new = {"brandNew": {"x": 1}}
    server.connection(ASKED, new, new, says.turn_complete(novelty=1))
    assert shown(talk(hello)) == [("error", "UNKNOWN_MESSAGE"), ("turn_complete", True)]


def test_an_error_of_the_service(server: GeminiLiveServer) -> None:
    error = {"error": {"code": 429, "message": f"Quota of {KEY} exceeded"}}
    server.connection(ASKED, error, says.turn_complete())
    responses = talk(hello)
    assert shown(responses) == [("error", "429"), ("turn_complete", True)]
    assert "Quota of [api key] exceeded" in str(responses[0].error_message)


def test_the_size_of_a_message_is_a_setting(server: GeminiLiveServer) -> None:
    huge = says.audio(b"\0\1" * 1_200_000)
    server.connection(ASKED, huge, says.turn_complete()).connection(ASKED, huge, says.turn_complete())
    assert shown(talk(hello)) == [("sound", 2_400_000), ("turn_complete", True)]
    [failed] = talk(hello, frame_bytes=1 << 20)
    assert failed.error_code == "RESPONSE_TOO_LARGE"
    assert "1,048,576 bytes (connection 3); raise the setting frame_bytes" in str(failed.error_message)


def test_settings_reach_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nextends: standard\nautoload: false\nsettings:\n  gemini:\n    frame_bytes: 5000\n")
    model = model_of(compose(file), MODEL)
    assert isinstance(model, Gemini)
    assert model.frame_bytes == 5_000


def test_a_service_that_has_stalled_is_left_before_the_library_would(server: GeminiLiveServer) -> None:
    server.connection(ASKED, says.text("x"), Stall())

    async def run() -> tuple[int, float]:
        async with connected() as connection:
            await hello(connection)
            receiving = connection.receive()
            await anext(receiving)
            waiting = asyncio.create_task(anext(receiving))
            sending = asyncio.create_task(_flood(connection))
            await asyncio.sleep(0.2)  # the buffers of the socket are full
            ticks: list[None] = []  # a busy machine has fewer in a second
            ticking = asyncio.create_task(_tick(ticks))
            start = time.perf_counter()
            sending.cancel()
        ticking.cancel()
        await asyncio.gather(waiting, sending, ticking, return_exceptions=True)
        return len(ticks), time.perf_counter() - start

    ticks, seconds = asyncio.run(run())
    # Its own timeout, of ten seconds, begins once all is written; ours is one.
    assert ticks * 0.02 < 2
    assert seconds < 10


async def _tick(ticks: list[None]) -> None:
    while True:
        await asyncio.sleep(0.02)
        ticks.append(None)


async def _flood(connection: BaseLlmConnection) -> None:
    while True:
        await connection.send_realtime(types.Blob(data=bytes(1 << 20), mime_type="audio/pcm;rate=16000"))


def test_closing_ends_receiving(server: GeminiLiveServer) -> None:
    server.connection(ASKED, says.text("x"), Pause(60))

    async def run() -> list[LlmResponse]:
        async with connected() as connection:
            await hello(connection)
            receiving = connection.receive()
            responses = [await anext(receiving)]
            waiting = asyncio.create_task(anext(receiving, None))
            await asyncio.sleep(0)
            await connection.close()
            await connection.close()
            assert await waiting is None
            assert await received(connection) == []
            with pytest.raises(ConnectionError):
                await hello(connection)
            return responses

    assert shown(asyncio.run(run())) == [("text", ("x", True))]


def test_a_wrong_key(server: GeminiLiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "another-key")
    with pytest.raises(ModelError, match="refused the connection 3 with 1008: API key not valid") as caught:
        talk()
    assert "another-key" not in str(caught.value)


def test_a_handle_that_is_not_known(server: GeminiLiveServer) -> None:
    asked = request(session_resumption=types.SessionResumptionConfig(handle="h-9"))
    with pytest.raises(ModelError, match=r"1008: BidiGenerateContent session not found; .* handle"):
        talk(asked=asked)


def test_nobody_there(server: GeminiLiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "https://127.0.0.1:9")
    with pytest.raises(ConnectionLostError, match="could not be reached"):
        talk()


@pytest.mark.parametrize(("status", "error"), [(401, ModelError), (302, ModelError), (503, ConnectionLostError)])
def test_a_handshake_that_is_refused(server: GeminiLiveServer, status: int, error: type[Exception]) -> None:
    """The key does not follow a redirect to another host."""
    server.answer_handshake(status, {"location": "https://localhost:9/"}, f"no: {KEY}")
    with pytest.raises(error, match=str(status)) as caught:
        talk()
    assert KEY not in str(caught.value)


def test_a_setup_that_the_api_does_not_know(server: GeminiLiveServer) -> None:
    """The SDK refuses it."""
    declared = types.Tool(retrieval=types.Retrieval())
    with pytest.raises(ModelError, match="retrieval"):
        talk(asked=request(config={"tools": [declared]}))


def test_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    monkeypatch.setenv("NEWEL_OFFLINE", "1")
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match=r"generativelanguage\.googleapis\.com"):
        talk()


def test_capabilities() -> None:
    live = Gemini(model=MODEL).capabilities.live
    assert live is not None
    assert live.resumption
    assert Gemini(model="gemini-2.5-flash").capabilities.live is None
    assert Gemini(model="gemini-2.5-flash-native-audio-preview-12-2025").capabilities.live is not None
    changed = Gemini(model=MODEL, capability_overrides={"live": {"images": False, "input_rates": [16000]}})
    assert changed.capabilities.live == LiveCapabilities(input_rates=(16000,), images=False, resumption=True)
    with pytest.raises(ConfigurationError, match="'image'"):
        _ = Gemini(model=MODEL, capability_overrides={"live": {"image": False}}).capabilities


def test_a_model_without_live_refuses_by_name() -> None:
    class Written(ScriptedModel):
        connect = BaseLlm.connect

    with pytest.raises(FeatureUnavailableError, match="offers no live connection"):
        Written("x").connect(request())


def test_the_server_without_a_script(server: GeminiLiveServer) -> None:
    """Each turn is answered."""

    async def run() -> list[list[LlmResponse]]:
        async with connected() as connection:
            turns = []
            for words in ("one", "two"):
                await connection.send_content(user(words))
                turns.append(await received(connection))
            return turns

    turns = asyncio.run(run())
    wholes = [turn[-2].content.parts[0].text for turn in turns]  # type: ignore[union-attr,index]
    assert wholes == ["You said: one ", "You said: two "]
    connection: Connection = server.connections[0]
    assert connection.counts["clientContent"] == 2


@pytest.mark.parametrize("order", list(itertools.permutations(["in 1", "in 2", "out"])))
def test_a_question_of_pieces_stands_before_its_answer(order: tuple[str, ...]) -> None:
    """Unless the answer is whole before a word of the question came: then nobody knows that one will come."""
    reader = GeminiReader("gemini-2.5-flash-live", None, newer=False)
    messages = {
        "in 1": {"inputTranscription": {"text": "What time "}},
        "in 2": {"inputTranscription": {"text": "is it?"}},
        "out": {"outputTranscription": {"text": "Noon.", "finished": True}},
    }
    read = [one for name in order for one in reader.read({"serverContent": messages[name]})]
    read += reader.read({"serverContent": {"turnComplete": True}})
    wholes = [one for one in read if not one.partial and (one.input_transcription or one.output_transcription)]
    sides = ["user" if one.input_transcription else "model" for one in wholes]
    assert sides == (["user", "model"] if order[0] != "out" else ["model", "user"])
