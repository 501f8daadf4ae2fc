"""What goes in, what comes out, and what is stored of a live session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.plugins.live.live_runs import Live, audio, result, text, told

from newel.agents import LiveRequest, LiveRequestQueue, LlmAgent, LoopAgent, ParallelAgent, RunConfig, SequentialAgent
from newel.live.driver import Conversation
from newel.models import BaseLlm
from newel.plugins import BasePlugin
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import CLOSED, TURN_COMPLETE, ScriptedLiveModel, ScriptedModel, WaitFor
from newel_kernel import LlmResponse
from newel_types import (
    AudioTranscriptionConfig,
    Blob,
    Content,
    FunctionCall,
    GenerateContentConfig,
    Part,
    SessionResumptionConfig,
    Transcription,
    VoiceActivity,
)

PARTIAL = LlmResponse(content=Content(role="model", parts=[Part(text="Hel")]), partial=True)


def test_a_turn_is_yielded_and_all_but_its_pieces_are_stored() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), PARTIAL, "Hello.", TURN_COMPLETE])
        events = await live.run("hi")
        assert [told(event) for event in events] == ["root: Hel ...", "root: Hello.", "turn"]
        assert [told(event) for event in await live.stored()] == ["user: hi", "root: Hello.", "turn"]
        assert live.model.left == live.model.connections

    asyncio.run(whole())


def test_audio_is_yielded_and_not_stored() -> None:
    async def whole() -> None:
        live = Live([WaitFor("blob", 2), audio(rate=24000), TURN_COMPLETE])
        assert [told(event) for event in await live.run(audio(), audio())] == ["audio", "turn"]
        assert [told(event) for event in await live.stored()] == ["turn"]
        assert live.model.connections[0].of("blob") == [audio(), audio()]

    asyncio.run(whole())


def test_a_response_with_a_transcription_or_an_activity_becomes_an_event_with_only_that() -> None:
    async def whole() -> None:
        heard = LlmResponse(
            input_transcription=Transcription(text="so", finished=True), content=Content(parts=[Part(text="no")])
        )
        active = LlmResponse(voice_activity=VoiceActivity(voice_activity_type="ACTIVITY_START"))
        live = Live([WaitFor("blob"), active, heard, LlmResponse(), TURN_COMPLETE])
        events = await live.run(audio())
        assert [(event.author, told(event)) for event in events] == [
            ("root", "nothing"),
            ("user", "heard so"),
            ("root", "turn"),
        ]
        assert events[0].voice_activity is not None
        assert events[1].content is None

    asyncio.run(whole())


def test_what_is_partial_or_answers_a_call_is_sent_and_not_stored() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE])
        part = LiveRequest(content=text("first half"), partial=True)
        await live.run(part, result("begin", {"done": True}, "c1"), "second half")
        assert [kind for kind, _ in live.model.connections[0].sent] == ["partial", "results", "content"]
        assert [told(event) for event in await live.stored()] == ["user: second half", "root: ok", "turn"]

    asyncio.run(whole())


def test_state_comes_with_any_request() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE])
        await live.run(
            LiveRequest(state_delta={"a": 1}),
            LiveRequest(content=text("part"), partial=True, state_delta={"b": 2}),
            LiveRequest(content=text("hi"), state_delta={"c": 3}),
        )
        assert [told(event) for event in await live.stored()] == ["state", "state", "user: hi", "root: ok", "turn"]
        session = await live.sessions.get_session(app_name="app", user_id="u", session_id="s")
        assert session is not None
        assert session.state == {"a": 1, "b": 2, "c": 3}

    asyncio.run(whole())


def test_marks_go_before_audio_and_content_goes_besides() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), TURN_COMPLETE])
        await live.run(
            lambda q: q.send_activity_start(),
            lambda q: q.send_activity_end(),
            lambda q: q.send_audio_stream_end(),
            LiveRequest(audio_stream_end=True, blob=audio()),
            LiveRequest(blob=audio(), content=text("and words")),
        )
        kinds = [kind for kind, _ in live.model.connections[0].sent]
        assert kinds == ["activity_start", "activity_end", "audio_stream_end", "audio_stream_end", "blob", "content"]

    asyncio.run(whole())


REFUSED: list[tuple[Any, str]] = [
    (Blob(data=b"\0\0"), "no MIME type"),
    (Blob(data=b"\0\0", mime_type="audio/mpeg"), "unknown"),
    (Blob(data=b"\0\0\0", mime_type="audio/pcm;rate=16000"), "half a sample"),
    (Blob(data=bytes(50 << 20), mime_type="audio/pcm;rate=16000"), "larger than"),
    (Blob(data=b"\0", mime_type="image/tiff"), "is not one of"),
    (Content(parts=[Part(function_call=FunctionCall(name="f", args={}))]), "function calls"),
    (LiveRequest(content=Content(role="user")), "no parts"),
]


@pytest.mark.parametrize(("item", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_what_no_service_takes_is_refused_and_the_session_goes_on(item: Any, why: str) -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE], distribution="standard")
        events = await live.run(item, "hi")
        refused = [event for event in events if event.error_code == "INVALID_INPUT"]
        assert len(refused) == 1
        assert why in (refused[0].error_message or "")
        assert [kind for kind, _ in live.model.connections[0].sent] == ["content"]
        assert "root: ok" in [told(event) for event in events]

    asyncio.run(whole())


def test_function_calls_of_the_user_end_the_run_in_adk() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE])
        with pytest.raises(ValueError, match="cannot contain function calls"):
            await live.run(Content(parts=[Part(function_call=FunctionCall(name="f", args={}))]))
        assert await live.stored() == []

    asyncio.run(whole())


def test_an_answer_to_what_was_not_asked_is_refused() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE])
        events = await live.run(result("adk_request_confirmation", {"confirmed": True}, "nobody"), "hi")
        assert [event.error_code for event in events if event.error_code] == ["INVALID_INPUT"]
        assert {told(event) for event in await live.stored()} == {"INVALID_INPUT", "user: hi", "root: ok", "turn"}

    asyncio.run(whole())


def test_audio_is_refused_once_for_each_reason() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE])
        wrong = [Blob(data=b"\0" * (2 + n % 2), mime_type="audio/pcm" if n % 2 else "audio/mpeg") for n in range(100)]
        events = await live.run(*wrong, "hi")
        assert [event.error_code for event in events].count("INVALID_INPUT") == 2

    asyncio.run(whole())


def test_a_team_that_works_on_tasks_has_no_live_mode() -> None:
    async def whole() -> None:
        worker = LlmAgent(name="worker", model=ScriptedLiveModel([]), mode="task")
        live = Live(agent=LlmAgent(name="root", model=ScriptedLiveModel([]), sub_agents=[worker]))
        with pytest.raises(NotImplementedError, match="no live mode"):
            await live.run("hi")

    asyncio.run(whole())


def test_the_rate_is_the_model_s() -> None:
    async def whole() -> None:
        live = Live(agent=LlmAgent(name="root", model="demo:"))
        live.put(audio(rate=24000))

        def leave(event: Any, queue: LiveRequestQueue) -> None:
            queue.close()

        events = await live.run(turns=0, react=leave)
        assert ["takes audio of 16000 Hz, but 24000 Hz was sent" in (e.error_message or "") for e in events] == [True]

    asyncio.run(whole())


def test_a_run_needs_a_queue_a_user_and_a_session() -> None:
    runner = Live([]).runner
    with pytest.raises(ValueError, match="live_request_queue"):
        runner.run_live(user_id="u", session_id="s")
    with pytest.raises(ValueError, match="user_id"):
        runner.run_live(session_id="s", live_request_queue=LiveRequestQueue())


def test_a_model_or_an_agent_without_live_is_refused_by_name_and_nothing_is_stored() -> None:
    class Plain(ScriptedModel):
        connect = BaseLlm.connect

    async def refused(agent: Any, name: str) -> None:
        live = Live(agent=agent)
        with pytest.raises(NotImplementedError, match=name):
            await live.run("hi")
        assert await live.stored() == []

    part = ScriptedLiveModel([])
    asyncio.run(refused(LlmAgent(name="root", model=Plain(model="letters")), "letters"))
    asyncio.run(refused(LoopAgent(name="loop", sub_agents=[LlmAgent(name="a", model=part)]), "LoopAgent"))
    asyncio.run(refused(ParallelAgent(name="both", sub_agents=[LlmAgent(name="b", model=part)]), "ParallelAgent"))
    inner = LoopAgent(name="inner", sub_agents=[LlmAgent(name="d", model=part)])
    first = LlmAgent(name="c", model=ScriptedLiveModel([WaitFor("content"), "never"]))
    asyncio.run(refused(SequentialAgent(name="seq", sub_agents=[first, inner]), "LoopAgent"))


def test_a_queue_has_one_run_at_a_time() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "one", TURN_COMPLETE], [WaitFor("content"), "two", TURN_COMPLETE])
        other = Runner(
            app_name="app",
            agent=LlmAgent(name="root", model=ScriptedLiveModel([])),
            auto_create_session=True,
            session_service=InMemorySessionService(),
        )

        async def second(event: Any, queue: LiveRequestQueue) -> None:
            if event.turn_complete:
                run = other.run_live(user_id="u", session_id="t", live_request_queue=queue)
                with pytest.raises(ValueError, match="read by another run"):
                    await anext(run)

        await live.run("hi", react=second)
        await live.run("again")  # once the first is over, it may
        assert [told(event) for event in live.events] == ["root: one", "turn", "root: two", "turn"]

    asyncio.run(whole())


def test_the_caller_s_configuration_is_not_changed_and_reaches_the_connection() -> None:
    async def whole() -> None:
        config = RunConfig(session_resumption=SessionResumptionConfig(), input_audio_transcription=None)
        before = config.model_copy(deep=True)
        thrifty = GenerateContentConfig(temperature=0.5, max_output_tokens=9)
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE], generate_content_config=thrifty)
        await live.run("hi", config=config)
        made = live.model.requests[0].live_connect_config
        assert config == before
        assert config.response_modalities is None
        assert made.output_audio_transcription == AudioTranscriptionConfig()
        assert (made.input_audio_transcription, made.temperature, made.max_output_tokens) == (None, 0.5, 9)
        assert [str(getattr(m, "value", m)) for m in made.response_modalities] == ["AUDIO"]

    asyncio.run(whole())


def test_transcription_is_on_unless_none_is_said() -> None:
    assert RunConfig().input_audio_transcription == AudioTranscriptionConfig()
    assert RunConfig(input_audio_transcription=None).input_audio_transcription is None
    config = RunConfig()
    config.output_audio_transcription = None
    assert config.output_audio_transcription is None
    assert RunConfig().model_copy().output_audio_transcription == AudioTranscriptionConfig()
    with pytest.warns(DeprecationWarning, match="save_live_blob"):
        assert RunConfig(save_live_audio=True).save_live_blob


def test_the_end_of_the_connection_is_the_end_of_the_run() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "bye", TURN_COMPLETE, CLOSED])
        assert [told(event) for event in await live.run("hi", turns=0)] == ["root: bye", "turn"]
        live = Live([WaitFor("content"), "never"])
        live.queue.close()
        assert live.queue.closed
        assert await live.run(turns=0) == []
        assert live.model.left == live.model.connections

    asyncio.run(whole())


def test_after_run_callbacks_run_on_every_way_out() -> None:
    ended: list[str] = []

    class Watch(BasePlugin):
        async def after_run_callback(self, *, invocation_context: Any) -> None:
            ended.append("after_run")

    async def whole(*script: Any, turns: int = 1) -> None:
        live = Live([WaitFor("content"), *script], plugins=[Watch(name="watch")], distribution="standard")
        try:
            await live.run("hi", turns=turns)
        except ValueError:
            ended.append("raised")

    asyncio.run(whole("ok", TURN_COMPLETE))
    asyncio.run(whole("ok", CLOSED, turns=0))
    asyncio.run(whole(ValueError("broken")))
    assert ended == ["after_run", "after_run", "after_run", "raised"]


def test_history_is_sent_once_and_typed_words_are_its_part() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "one", TURN_COMPLETE], [WaitFor("content"), "two", TURN_COMPLETE])
        await live.run("first")
        await live.run("second")
        history = live.model.connections[1].of("history")[0]
        assert [(one.role, one.parts[0].text) for one in history] == [("user", "first"), ("model", "one")]
        made = live.model.requests[1].live_connect_config
        assert made.history_config is not None
        assert made.history_config.initial_history_in_client_content is True

    asyncio.run(whole())


def test_custom_metadata_is_on_every_event_in_standard() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE], distribution="standard")
        await live.run("hi", config=RunConfig(custom_metadata={"call": 7}))
        assert [event.custom_metadata for event in await live.stored()] == [{"call": 7}] * 3

    asyncio.run(whole())


def test_sound_in_the_midst_of_a_turn_makes_the_events_that_any_response_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Conversation.sound` makes most events of a live session for less; it must not tell."""
    sound = Content(role="model", parts=[Part(inline_data=audio(rate=24000))])
    words = Content(role="model", parts=[Part(text="so"), Part(inline_data=audio(rate=24000))])
    script = [
        WaitFor("content"),
        LlmResponse(content=sound),
        LlmResponse(content=sound, partial=True),
        audio(rate=24000),
        LlmResponse(content=sound, model_version="m"),
        LlmResponse(content=sound, custom_metadata={"a": 1}),
        LlmResponse(content=sound, usage_metadata={"total_token_count": 3}),
        LlmResponse(content=words),  # type: ignore[arg-type]
        LlmResponse(content=sound, interrupted=True),
        LlmResponse(content=sound, live_session_id="l"),
        LlmResponse(content=Content(role="user", parts=[Part(inline_data=audio())])),
        LlmResponse(content=Content()),
        LlmResponse(content=Content(role="model", parts=[])),
        LlmResponse(content=sound),
        TURN_COMPLETE,
    ]

    def events_of_a_run() -> list[dict[str, Any]]:
        events = asyncio.run(Live(script).run("go"))
        return [event.model_dump(exclude={"id", "timestamp", "invocation_id"}, exclude_none=True) for event in events]

    quickly = events_of_a_run()
    monkeypatch.setattr(Conversation, "sound", lambda *_: None)
    assert quickly == events_of_a_run()
    assert len(quickly) > 12
