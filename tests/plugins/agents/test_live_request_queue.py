"""What goes into a live session, in order, and how a streaming tool reads it."""

from __future__ import annotations

import asyncio

import pytest
from google.genai import types as genai_types
from pydantic import ValidationError

from newel import types
from newel.agents import LiveRequest, LiveRequestQueue
from newel.agents.active_streaming_tool import ActiveStreamingTool
from newel.agents.live_request_queue import ToolStream
from newel.agents.transcription_entry import TranscriptionEntry

AUDIO = types.Blob(data=b"\x01\x02", mime_type="audio/pcm")


def test_requests_come_in_the_order_they_were_sent() -> None:
    async def body() -> None:
        queue = LiveRequestQueue()
        queue.send_activity_start()
        queue.send_realtime(AUDIO)
        queue.send_activity_end()
        queue.send_content(types.Content(parts=[types.Part(text="hi")]))
        queue.close()
        got = [await queue.get() for _ in range(5)]
        assert [sorted(request.model_dump(exclude_none=True, exclude_defaults=True)) for request in got if request] == [
            ["activity_start"],
            ["blob"],
            ["activity_end"],
            ["content"],
            ["close"],
        ]

    asyncio.run(body())


def test_a_reader_waits_for_the_next_request() -> None:
    async def body() -> None:
        queue = LiveRequestQueue()
        waiting = asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        assert not waiting.done()
        queue.send_realtime(AUDIO)
        assert (await waiting) == LiveRequest(blob=AUDIO)

    asyncio.run(body())


def test_the_end_of_a_tool_s_stream_reads_as_none_for_good() -> None:
    async def body() -> None:
        stream = ToolStream()
        stream.send_realtime(AUDIO)
        stream.close()
        first = await stream.get()
        assert first is not None
        assert first.realtime_input is not None
        assert first.realtime_input.media_chunks == [AUDIO]
        assert await stream.get() is None
        assert await stream.get() is None

    asyncio.run(body())


def test_a_request_without_media_has_no_realtime_input() -> None:
    assert LiveRequest(close=True).realtime_input is None


def test_objects_of_google_genai_are_accepted() -> None:
    request = LiveRequest(blob=genai_types.Blob(data=b"x", mime_type="audio/pcm"))
    assert type(request.blob) is types.Blob


def test_a_transcription_entry_holds_sound_or_text_and_nothing_else() -> None:
    assert TranscriptionEntry(role="user", data=AUDIO).data == AUDIO
    text = types.Content(parts=[types.Part(text="hi")])
    assert TranscriptionEntry(data=text).data == text
    with pytest.raises(ValidationError):
        TranscriptionEntry(role="user", data=AUDIO, other=1)  # type: ignore[call-arg]


def test_an_active_streaming_tool_holds_its_task_and_its_stream() -> None:
    async def body() -> None:
        task = asyncio.create_task(asyncio.sleep(0))
        tool = ActiveStreamingTool(task=task, stream=ToolStream())
        assert tool.task is task
        await task

    asyncio.run(body())
