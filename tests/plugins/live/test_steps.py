"""The steps of both orders: screening, saved audio, transcriptions, interruptions, and those of others."""

from __future__ import annotations

import asyncio
import io
import re
import wave
from contextlib import aclosing, nullcontext
from typing import Any

import pytest
from tests.plugins.live.live_runs import Live, audio, told

from newel.agents import CallbackContext, LiveRequestQueue, LlmAgent, RunConfig
from newel.live.kinds import LiveIn, LiveOut
from newel.plugins import BasePlugin
from newel.testing import CLOSED, TURN_COMPLETE, Pause, WaitFor
from newel_compose import compose
from newel_kernel import Event, HookSignatureError, LlmRequest, LlmResponse, hookimpl
from newel_types import Blob, Content, FunctionCall, Part, Transcription

INTERRUPTED = LlmResponse(interrupted=True)


def heard(text: str, *, finished: bool = False) -> LlmResponse:
    return LlmResponse(input_transcription=Transcription(text=text, finished=finished), partial=not finished)


def spoken(text: str, *, finished: bool = False) -> LlmResponse:
    return LlmResponse(output_transcription=Transcription(text=text, finished=finished), partial=not finished)


def answer(text: str, **fields: Any) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]), **fields)


def guard(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    return answer("I cannot") if "bad" in (llm_request.contents[-1].parts[0].text or "") else None


def test_typed_words_are_screened_stored_and_not_sent() -> None:
    async def whole() -> None:
        live = Live([WaitFor("content"), "ok", TURN_COMPLETE], before_model_callback=guard)
        events = await live.run("bad word", "good word", turns=2)
        blocked = next(event for event in events if told(event) == "root: I cannot")
        assert blocked.turn_complete
        assert [content.parts[0].text for content in live.model.connections[0].of("content")] == ["good word"]
        stored = [told(event) for event in await live.stored()]
        assert {"user: bad word", "root: I cannot", "user: good word"} <= set(stored)

    asyncio.run(whole())


def test_spoken_words_are_screened_and_the_session_begins_anew_without_its_handle() -> None:
    async def whole() -> None:
        script = [WaitFor("blob"), heard("bad"), heard("bad word", finished=True), "never", TURN_COMPLETE]
        live = Live(script, [WaitFor("history"), "go on", TURN_COMPLETE], before_model_callback=guard)
        events = await live.run(audio(), turns=2)
        assert [told(event) for event in events] == [
            "heard bad",
            "heard bad word",
            "root: I cannot",
            "root: go on",
            "turn",
        ]
        history = live.model.connections[1].of("history")[0]
        assert [content.parts[0].text for content in history] == ["bad word", "I cannot"]

    asyncio.run(whole())


def test_what_the_model_says_is_seen_as_far_as_it_has_come_and_may_be_replaced() -> None:
    seen: list[str] = []

    def watch(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
        said = llm_response.output_transcription
        seen.append(said.text or "" if said else "")
        return answer("[left out]", partial=True) if "secret" in seen[-1] else None

    async def whole() -> None:
        script = [WaitFor("content"), spoken("the "), spoken("secret"), spoken("is"), TURN_COMPLETE]
        live = Live(script, [WaitFor("history"), "next", TURN_COMPLETE], after_model_callback=watch)
        events = await live.run("hi", turns=2)
        assert seen == ["the ", "the secret"]
        assert [told(event) for event in events] == ["spoken the ", "root: [left out]", "root: next", "turn"]
        assert "root: [left out]" in [told(event) for event in await live.stored()]  # though a piece was being said

    asyncio.run(whole())


def test_audio_of_both_sides_is_saved_at_the_end_of_a_turn() -> None:
    async def whole() -> None:
        script = [WaitFor("blob", 2), audio(b"\1\0", 24000), audio(b"\2\0", 24000), TURN_COMPLETE]
        live = Live(script)
        events = await live.run(audio(b"\5\0"), audio(b"\6\0"), config=RunConfig(save_live_blob=True))
        assert [told(event) for event in events] == ["audio", "audio", "file user", "file root", "turn"]
        where: Any = {"app_name": "app", "user_id": "u", "session_id": "s"}
        saved = {}
        for name in await live.artifacts.list_artifact_keys(**where):
            part = await live.artifacts.load_artifact(filename=name, **where)
            assert part is not None
            assert part.inline_data is not None
            saved[name.split("_")[4]] = (part.inline_data.data, part.inline_data.mime_type)
        assert saved == {
            "input": (b"\5\0\6\0", "audio/pcm;rate=16000"),
            "output": (b"\1\0\2\0", "audio/pcm;rate=24000"),
        }
        uri = events[2].content.parts[0].file_data.file_uri  # type: ignore[union-attr,index]
        assert str(uri).startswith("artifact://app/u/s/_adk_live/adk_live_audio_storage_input_audio_")
        assert [told(event) for event in await live.stored()] == ["file user", "file root", "turn"]

    asyncio.run(whole())


async def saved(live: Live) -> dict[str, list[bytes]]:
    """What was saved of the session's audio, by side."""
    where: Any = {"app_name": "app", "user_id": "u", "session_id": "s"}
    found: dict[str, list[bytes]] = {}
    for name in sorted(await live.artifacts.list_artifact_keys(**where)):
        for version in await live.artifacts.list_versions(filename=name, **where):
            part = await live.artifacts.load_artifact(filename=name, version=version, **where)
            assert part is not None
            assert part.inline_data is not None
            found.setdefault(name.split("_")[4], []).append(part.inline_data.data or b"")
    return found


@pytest.mark.parametrize("callback", ["of the agent", "of a plugin"])
def test_what_a_callback_answers_in_place_of_the_model_ends_the_recording_of_the_turn(callback: str) -> None:
    """The user's side is saved; what the model had said is not: it was replaced."""

    async def watch(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
        said = llm_response.output_transcription
        return answer("[left out]") if said and "secret" in (said.text or "") else None

    class Watch(BasePlugin):
        async def after_model_callback(self, **about: Any) -> LlmResponse | None:
            return await watch(**about)

    async def whole() -> None:
        own: dict[str, Any] = {"after_model_callback": watch}
        options = own if callback == "of the agent" else {"plugins": [Watch("watch")]}
        first = [WaitFor("blob"), audio(b"\1\0", 24000), spoken("secret"), audio(b"\2\0", 24000), TURN_COMPLETE]
        live = Live(first, [WaitFor("blob"), audio(b"\3\0", 24000), spoken("so"), TURN_COMPLETE], **options)

        def say(event: Event, queue: LiveRequestQueue) -> None:
            if told(event) == "root: [left out]":
                queue.send_realtime(audio(b"\6\0"))

        events = await live.run(audio(b"\5\0"), turns=2, react=say, config=RunConfig(save_live_blob=True))
        assert [told(event) for event in events] == [
            "audio",
            "file user",
            "root: [left out]",
            "audio",
            "spoken so",
            "file user",
            "file root",
            "turn",
        ]
        assert events[2].turn_complete
        assert await saved(live) == {"input": [b"\5\0", b"\6\0"], "output": [b"\3\0"]}
        stored = [told(event) for event in await live.stored()]
        assert stored == ["file user", "root: [left out]", "file user", "file root", "turn"]

    asyncio.run(whole())


@pytest.mark.parametrize("end", ["of the connection", "of the consumer", "by an error"])
def test_what_was_recorded_since_the_last_turn_is_saved_when_the_run_ends(end: str) -> None:
    async def whole() -> None:
        last = {"by an error": RuntimeError("broken")}.get(end, CLOSED)
        script = [WaitFor("blob"), audio(b"\1\0", 24000), TURN_COMPLETE, WaitFor("blob"), audio(b"\2\0", 24000)]
        live = Live([*script, Pause(60) if end == "of the consumer" else last])
        run = live.runner.run_live(
            user_id="u", session_id="s", live_request_queue=live.queue, run_config=RunConfig(save_live_blob=True)
        )
        live.put(audio(b"\5\0"))
        seen: list[str] = []
        async with asyncio.timeout(60), aclosing(run):
            with pytest.raises(RuntimeError, match="broken") if end == "by an error" else nullcontext():
                async for event in run:
                    seen.append(told(event))
                    if event.turn_complete:
                        live.put(audio(b"\6\0"))
                    if end == "of the consumer" and seen.count("audio") == 2:
                        break
        assert seen == ["audio", "file user", "file root", "turn", "audio"]
        assert await saved(live) == {"input": [b"\5\0", b"\6\0"], "output": [b"\1\0", b"\2\0"]}
        stored = [told(event) for event in await live.stored()]
        assert stored == ["file user", "file root", "turn", "file user", "file root"]

    asyncio.run(whole())


def test_saved_audio_is_bounded_by_files_and_may_be_wav() -> None:
    async def whole() -> None:
        script = [WaitFor("blob"), *[audio(b"\1\0" * 4, 24000)] * 5, INTERRUPTED, TURN_COMPLETE]
        live = Live(script, settings={"saved_bytes": 16, "save_wav": True})
        events = await live.run(audio(), config=RunConfig(save_live_blob=True))
        files = [event for event in events if told(event) == "file root"]
        assert len(files) == 3
        where: Any = {"app_name": "app", "user_id": "u", "session_id": "s"}
        frames = 0
        for name in await live.artifacts.list_artifact_keys(**where):
            versions = await live.artifacts.list_versions(filename=name, **where)
            for version in versions if "output" in name else ():
                part = await live.artifacts.load_artifact(filename=name, version=version, **where)
                assert part is not None
                assert part.inline_data is not None
                with wave.open(io.BytesIO(part.inline_data.data or b"")) as file:
                    assert file.getframerate() == 24000
                    frames += file.getnframes()
        assert frames == 20

    asyncio.run(whole())


def test_pieces_that_nobody_sums_up_are_in_standard() -> None:
    async def whole(distribution: str) -> list[str]:
        script = [WaitFor("blob"), heard("what "), heard("now"), spoken("no"), spoken("thing"), TURN_COMPLETE]
        live = Live(script, distribution=distribution)
        await live.run(audio())
        return [told(event) for event in await live.stored()]

    assert asyncio.run(whole("adk")) == ["turn"]
    assert asyncio.run(whole("standard")) == ["heard what now", "spoken nothing", "turn"]


def test_speech_that_waits_is_dropped_when_the_user_interrupts() -> None:
    async def whole(distribution: str) -> int:
        script = [WaitFor("blob"), *[audio(bytes(960), 24000)] * 100, INTERRUPTED, "and?", TURN_COMPLETE]
        live = Live(script, distribution=distribution)

        async def slowly(event: Event, queue: LiveRequestQueue) -> None:
            if told(event) == "audio":
                await asyncio.sleep(0.01)

        events = await live.run(audio(), react=slowly)
        assert [told(event) for event in events][-3:] == ["interrupted", "root: and?", "turn"]
        return len(events)

    assert asyncio.run(whole("adk")) == 103
    assert asyncio.run(whole("standard")) < 10


def test_a_slow_consumer_gets_everything_in_order_and_the_buffer_is_bounded() -> None:
    async def whole() -> None:
        pieces = [audio(n.to_bytes(2, "big") * 480, 24000) for n in range(300)]
        live = Live([WaitFor("content"), *pieces, TURN_COMPLETE], settings={"read_ahead_bytes": 9600})
        ahead: list[int] = []

        async def slowly(event: Event, queue: LiveRequestQueue) -> None:
            await asyncio.sleep(0)
            left = [step for step in live.model.connections[0]._steps if isinstance(step, Blob)]
            ahead.append(300 - len(left) - len(live.events))

        events = await live.run("go", react=slowly)
        assert [event.content.parts[0].inline_data for event in events[:-1]] == pieces  # type: ignore[union-attr,index]
        assert max(ahead) <= 12

    asyncio.run(whole())


def test_audio_that_nobody_takes_is_dropped_oldest_first_and_words_never() -> None:
    queue = LiveRequestQueue()
    queue.claim(queue, limit=32)
    for n in range(5):
        queue.send_realtime(audio(bytes([n, 0]) * 8))
    queue.send_content(Content(role="user", parts=[Part(text="x" * 999)]))

    async def whole() -> list[Any]:
        return [await queue.take() for _ in range(3)]

    first, second, third = asyncio.run(whole())
    assert (first, second) == (audio(b"\3\0" * 8), audio(b"\4\0" * 8))
    assert third.content is not None
    assert queue.dropped == 3


def test_a_plugin_adds_steps_of_its_own() -> None:
    class Shout:
        name = "shout"

        @hookimpl
        def register_live_out(self) -> list[LiveOut]:
            return [LiveOut(name="shout", make=lambda live: self.louder, after=("checks",), blobs=False)]

        @hookimpl
        def register_live_in(self) -> list[LiveIn]:
            return [LiveIn(name="hush", make=lambda live: self.softer, before=("saved_audio",))]

        def louder(self, request: Any) -> Any:
            if request.content is None:
                return request
            words = Content(role="user", parts=[Part(text=request.content.parts[0].text.upper())])
            return request.model_copy(update={"content": words})

        def softer(self, response: LlmResponse) -> None:
            for part in response.content.parts or () if response.content else ():
                part.text = (part.text or "").lower()

    async def whole() -> None:
        live = Live([WaitFor("content"), "HELLO", TURN_COMPLETE], plugins=[Shout()])
        events = await live.run("hi")
        assert told(events[0]) == "root: hello"
        assert [told(event) for event in await live.stored()] == ["user: HI", "root: hello", "turn"]

    asyncio.run(whole())
    names = [step.name for step in compose("standard").registry.all(LiveIn)]
    assert names == [
        "resumption",
        "go_away",
        "interruption",
        "revoked_calls",
        "screening",
        "transcriptions",
        "saved_audio",
    ]


def boom(*args: object) -> Any:
    raise RuntimeError("boom")


def five(*args: object) -> Any:
    return 5


async def late(*args: object) -> Any:
    return 5


def broken(kind: Any, make: Any, **more: Any) -> Any:
    """A plugin `mine` with one step."""
    hook, anchor = {LiveOut: ("register_live_out", "checks"), LiveIn: ("register_live_in", "saved_audio")}[kind]
    anchor = "go_away" if more.get("arriving") else anchor
    step = kind(name="odd", make=make, after=(anchor,), **more)
    plugin = type("Mine", (), {hook: hookimpl(lambda self: [step])})()
    plugin.name = "mine"
    return plugin


@pytest.mark.parametrize(
    "plugin",
    [
        broken(LiveOut, boom),
        broken(LiveOut, lambda live: boom),
        broken(LiveIn, boom),
        broken(LiveIn, lambda live: boom),
        broken(LiveIn, boom, arriving=True),
        broken(LiveIn, lambda live: boom, arriving=True),
    ],
)
def test_an_error_of_a_plugins_step_names_the_plugin(plugin: Any) -> None:
    with pytest.raises(RuntimeError, match="boom") as caught:
        asyncio.run(Live([WaitFor("content"), "hello", TURN_COMPLETE], plugins=[plugin]).run("hi"))
    (note,) = caught.value.__notes__
    assert re.fullmatch(r"raised in the live (out|in) 'odd' of the plugin 'mine' \(given directly, .*\)", note)


@pytest.mark.parametrize(
    "plugin",
    [
        broken(LiveOut, five),
        broken(LiveOut, late),
        broken(LiveOut, lambda live: five),
        broken(LiveOut, lambda live: late),
        broken(LiveIn, five),
        broken(LiveIn, lambda live: five),
        broken(LiveIn, lambda live: late),
        broken(LiveIn, lambda live: five, arriving=True),
        broken(LiveIn, lambda live: late, arriving=True),
    ],
)
def test_a_wrong_result_of_a_plugins_step_names_function_and_line(plugin: Any) -> None:
    with pytest.raises(HookSignatureError) as caught:
        asyncio.run(Live([WaitFor("content"), "hello", TURN_COMPLETE], plugins=[plugin]).run("hi"))
    found = re.fullmatch(r"the live (?:out|in) 'odd' of the plugin 'mine' \(given .*?\): (.*)", str(caught.value))
    assert found is not None
    assert re.match(r"(five|late) \(test_steps.py:\d+\) returned (int|coroutine); ", found[1])


@pytest.mark.parametrize("address", ["demo:", "echo:"])
def test_the_offline_models_speak_in_tones_and_hear_how_long_one_speaks(address: str) -> None:

    loud, quiet = audio(b"\0\x40" * 8000), audio(bytes(16000))

    async def whole() -> None:
        live = Live(agent=LlmAgent(name="root", model=address))
        events = await live.run(loud, quiet, quiet)
        kinds = [told(event) for event in events]
        assert kinds[0] == "heard (0.5 s of speech)"
        assert kinds.count("audio") > 3
        assert kinds[-2].startswith("spoken ")
        assert kinds[-1] == "turn"
        rates = {event.content.parts[0].inline_data.mime_type for event in events if told(event) == "audio"}  # type: ignore[union-attr,index]
        assert rates == {"audio/pcm;rate=24000"}

    asyncio.run(whole())


def test_two_hundred_turns_with_a_tool_leave_nothing_behind() -> None:
    def look(x: int) -> dict[str, int]:
        """Look."""
        return {"x": x}

    async def whole() -> None:

        call = FunctionCall(name="look", args={"x": 1}, id=None)
        turn = [WaitFor("content"), call, WaitFor("results"), "so", TURN_COMPLETE]
        live = Live([*turn * 200, CLOSED, Pause(0)], tools=[look])
        before = asyncio.all_tasks()

        def again(event: Event, queue: LiveRequestQueue) -> None:
            if event.turn_complete:
                live.put("again")

        await live.run("go", turns=200, react=again)
        assert asyncio.all_tasks() == before
        assert len(live.model.connections[0].of("results")) == 200

    asyncio.run(whole())
