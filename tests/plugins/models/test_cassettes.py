"""Cassettes: recorded once, replayed the same, without secrets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent, RunConfig, StreamingMode
from newel.models.kinds import ModelProvider, model_of
from newel.runners import Runner
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import ModelError, hookimpl

KEY = "sk-SECRET-0123456789"


def run(model: str, tool_calls: list[int], stream: bool = False, **plugins: Any) -> list[tuple[Any, ...]]:
    def add(a: int) -> int:
        tool_calls.append(a)
        return a + 1

    agent = LlmAgent(name="root", model=model, tools=[add])
    runner = Runner(app_name="t", agent=agent, auto_create_session=True, distribution="standard", **plugins)
    config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)

    async def collect() -> list[tuple[Any, ...]]:
        events = runner.run_async(user_id="u", session_id="s", new_message="hi", run_config=config)
        return [
            (event.partial, part.text, part.function_call and part.function_call.args)
            async for event in events
            for part in event.content.parts
        ]

    return asyncio.run(collect())


@pytest.mark.parametrize("stream", [False, True])
def test_a_recording_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    monkeypatch.setenv("PARROT_API_KEY", KEY)
    steps = [{"call": "add", "args": {"a": 1}}, f"the key is {KEY}"]
    parrot = ScriptedModel(steps)

    class Plugin:
        name = "parrot"

        @hookimpl
        def register_model_providers(self) -> list[ModelProvider]:
            return [ModelProvider(name="parrot", create=lambda _: parrot)]

    file = tmp_path / "talk.jsonl"
    first = run(f"record:{file}:parrot:", [], stream, plugins=[Plugin()])
    assert KEY not in file.read_text()
    calls: list[int] = []
    again = run(f"replay:{file}", calls, stream)
    assert calls == [1]
    assert [(partial, args) for partial, _, args in again] == [(partial, args) for partial, _, args in first]
    assert again[-1][1] == "the key is [api key]"


def test_a_cassette_that_is_at_its_end_or_none_says_so(tmp_path: Path) -> None:
    composed = compose("standard")
    with pytest.raises(ModelError, match="cannot be read"):
        model_of(composed, f"replay:{tmp_path / 'none.jsonl'}")
    with pytest.raises(ModelError, match="write record:FILE:ADDRESS"):
        model_of(composed, "record:x")
    file = tmp_path / "empty.jsonl"
    file.write_text("")
    with pytest.raises(ModelError, match="has 0 answers"):
        run(f"replay:{file}", [])
    file.write_text("[]\n")
    with pytest.raises(ModelError, match="is not a cassette"):
        model_of(composed, f"replay:{file}")
