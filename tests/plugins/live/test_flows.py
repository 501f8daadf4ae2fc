"""The released names of a flow in a live run: a flow of one's own, and the cache of audio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.plugins.live.live_runs import Live, audio, told

from newel.agents import BaseAgent, InvocationContext, LlmAgent
from newel.flows.llm_flows import BaseLlmRequestProcessor
from newel.flows.llm_flows.audio_cache_manager import AudioCacheManager
from newel.flows.llm_flows.single_flow import SingleFlow
from newel.testing import TURN_COMPLETE, Conversation, ScriptedLiveModel, ScriptedModel, WaitFor
from newel_kernel import ConfigurationError, Event, LlmRequest
from newel_types import Blob


class Shout(BaseLlmRequestProcessor):
    """Tells the model to shout, and says so."""

    name = "shout"

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        llm_request.append_instructions(["Answer in capitals."])
        yield Event(invocation_id=invocation_context.invocation_id, author="shout", message="louder")


class Flowing(LlmAgent):
    """An agent that runs a flow of its own, live and in turns."""

    flow: Any = None

    def _run_live_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        return self.flow.run_live(ctx)  # type: ignore[no-any-return]

    def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        return self.flow.run_live(ctx)  # type: ignore[no-any-return]


def test_a_flow_runs_live_as_it_was_edited() -> None:
    flow = SingleFlow()
    flow.insert_request_processor_after("instructions", Shout())
    model = ScriptedLiveModel([WaitFor("content"), "HO", TURN_COMPLETE])
    live = Live(agent=Flowing(name="root", model=model, flow=flow, instruction="Be kind."), distribution="standard")
    live.put("hi")
    assert [told(event) for event in live.events_of()] == ["shout: louder", "root: HO", "turn"]
    instruction = str(model.requests[0].config.system_instruction)
    assert instruction.index("Be kind.") < instruction.index("Answer in capitals.")


def test_a_flow_is_not_live_without_a_queue() -> None:
    chat = Conversation(Flowing(name="a", model=ScriptedModel([]), flow=SingleFlow()))
    with pytest.raises(ConfigurationError, match="run_live"):
        chat.say("hi")


class Recorder(BaseAgent):
    """Keeps what it is given, and writes it."""

    pieces: Any
    flush: Any

    async def _run_live_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        manager = AudioCacheManager()
        for blob, side in self.pieces:
            manager.cache_audio(ctx, blob, side)
        for sides in self.flush:
            for event in await manager.flush_caches(ctx, **sides):
                yield event


def recorded(pieces: list[tuple[Blob, str]], *flush: dict[str, bool]) -> tuple[list[str], list[Any]]:
    async def whole() -> tuple[list[str], list[Any]]:
        live = Live(agent=Recorder(name="root", pieces=pieces, flush=flush))
        events = await live.run(turns=0)
        where: Any = {"app_name": "app", "user_id": "u", "session_id": "s"}
        names = await live.artifacts.list_artifact_keys(**where)
        parts = [await live.artifacts.load_artifact(filename=name, **where) for name in names]
        return [told(event) for event in events], sorted(
            (part.inline_data.data, part.inline_data.mime_type) for part in parts if part and part.inline_data
        )

    return asyncio.run(whole())


def test_audio_is_kept_by_side_and_written_on_demand() -> None:
    pieces = [(audio(b"\1\0"), "input"), (audio(b"\2\0", 24000), "output"), (audio(b"\3\0"), "input")]
    events, files = recorded(pieces, {"flush_model_audio": False}, {}, {})
    assert events == ["file user", "file root"], "what was written is not written again"
    assert files == [(b"\1\0\3\0", "audio/pcm;rate=16000"), (b"\2\0", "audio/pcm;rate=24000")]


def test_audio_of_no_side_is_refused() -> None:
    with pytest.raises(ValueError, match="'input' or 'output'"):
        recorded([(audio(), "both")], {})
