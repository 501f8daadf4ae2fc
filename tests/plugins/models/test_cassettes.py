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
from newel_compose import compose, compose_once
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
    with pytest.raises(ModelError, match="has 0 answers, and none to this request, which ends with 'hi'"):
        run(f"replay:{file}", [])
    file.write_text("[]\n")
    with pytest.raises(ModelError, match="is not a cassette"):
        model_of(composed, f"replay:{file}")


def ask(model: str, text: str, composition: Any = None, **options: Any) -> str:
    agent = LlmAgent(name="root", model=model, **options)
    runner = Runner(
        app_name="t", agent=agent, auto_create_session=True, composition=composition or compose_once("standard")
    )
    return list(runner.run(user_id="u", session_id="s", new_message=text))[-1].content.parts[0].text


def look(q: str) -> str:
    """Look."""
    return q


@pytest.mark.parametrize("end", ["", '{"key": "half a li', "\n", '{"key": "x", "responses": "\u00e4'])
def test_an_answer_belongs_to_its_request(tmp_path: Path, end: str) -> None:
    file = tmp_path / "talk.jsonl"
    texts = ["What is the capital of France?", "two\u2028lines", "half \ud800", "again"]
    first = [ask(f"record:{file}:echo:", text, instruction="Answer.") for text in texts]
    with file.open("ab") as lines:
        lines.write(end.encode()[:-1] if end.endswith("\u00e4") else end.encode())
    replay, composition = f"replay:{file}", compose("standard")
    for order in (texts, texts[::-1]):  # another order, and another runner of the process
        got = [ask(replay, text, composition, instruction="Answer.") for text in order]
        assert got == [first[texts.index(text)] for text in order]
    for change in ({"instruction": "Answer in French."}, {"instruction": "Answer.", "tools": [look]}, {}):
        with pytest.raises(ModelError, match="none to this request"):
            ask(replay, texts[0], composition, **change)
    with pytest.raises(ModelError, match="ends with 'Delete all users"):
        ask(replay, "Delete all users.", composition, instruction="Answer.")
    ask(f"record:{file}:echo:", "more", instruction="Answer.")  # after a line that a crash cut short
    assert ask(replay, "more", compose("standard"), instruction="Answer.")


def test_answers_to_one_request_come_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    ask(f"record:{file}:echo:", "hi")
    lines = file.read_text()
    file.write_text(lines.replace("echo:", "first") + lines.replace("echo:", "second"))
    composition = compose("standard")
    got = [ask(f"replay:{file}", "hi", composition) for _ in range(4)]
    assert ["first" in one for one in got] == [True, False, True, False]
