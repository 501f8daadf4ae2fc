"""Bounds of any model: how long and how large its answer may be, that it says something, how many calls it makes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent, RunConfig, StreamingMode
from newel.connections.deadlines import Deadline, DeadlineError
from newel.models import BaseLlm
from newel.testing import Conversation
from newel_kernel import LlmRequest, LlmResponse, ModelError
from newel_types import Content, FinishReason, FunctionCall, GenerateContentResponseUsageMetadata, Part

Answers = Callable[[], AsyncGenerator[LlmResponse, None]]
Chat = Callable[..., Conversation]


class Local(BaseLlm):
    """A model with no network behind it."""

    model: str = "local"
    answers: Any = None

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        async for response in self.answers():
            yield response


def text(said: str, *, partial: bool | None = None, **fields: Any) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=said)]), partial=partial, **fields)


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    """A conversation with a model that answers as it is told, in a distribution with settings of plugins."""

    def make(answers: Answers, tools: Any = (), **settings: Any) -> Conversation:
        house = tmp_path / "house.yaml"
        house.write_text(json.dumps({"extends": "standard", "settings": settings}))
        agent = LlmAgent(name="waiter", model=Local(answers=answers), tools=list(tools))
        return Conversation(agent, distribution=house)

    return make


STREAMED = RunConfig(streaming_mode=StreamingMode.SSE)


async def endless() -> Any:
    while True:
        yield text("tea " * 10, partial=True)


async def endless_nothing() -> Any:
    while True:
        yield LlmResponse(partial=True)


async def silent() -> Any:
    await asyncio.Event().wait()
    yield text("never")


async def dripping() -> Any:
    while True:
        await asyncio.sleep(0)
        yield text("", partial=True)


@pytest.mark.parametrize("answers", [endless, endless_nothing])
def test_a_stream_that_never_ends_is_too_large(chat: Chat, answers: Answers) -> None:
    one = chat(answers, model_timeouts={"response_bytes": 10_000})
    with pytest.raises(ModelError, match=r"local.* larger than 10,000 bytes") as caught:
        one.say("tea", run_config=STREAMED)
    assert caught.value.code == "RESPONSE_TOO_LARGE"
    assert [event.error_code for event in one.session.events if event.error_code] == ["RESPONSE_TOO_LARGE"]


@pytest.mark.parametrize("answers", [silent, dripping])
def test_a_stream_that_takes_for_ever_is_too_slow(chat: Chat, answers: Answers) -> None:
    one = chat(answers, model_timeouts={"total": 0.05})
    with pytest.raises(ModelError, match=r"local.* no complete answer within 0.05 s"):
        one.say("tea", run_config=STREAMED)


def test_chunks_and_the_answer_that_they_make_are_not_counted_together(chat: Chat) -> None:
    async def answers() -> Any:
        for _ in range(6):
            yield text("t" * 1_000, partial=True)
        yield text("t" * 6_000)

    assert chat(answers, model_timeouts={"response_bytes": 7_000}).say("tea", run_config=STREAMED).text == "t" * 6_000


async def nothing_at_all() -> Any:
    for response in ():
        yield response


async def an_empty_response() -> Any:
    yield LlmResponse()


async def no_parts() -> Any:
    yield LlmResponse(content=Content(role="model", parts=[]), finish_reason=FinishReason.STOP)


async def only_counts() -> Any:
    yield LlmResponse(usage_metadata=GenerateContentResponseUsageMetadata(prompt_token_count=3))


@pytest.mark.parametrize("streamed", [False, True])
def test_thoughts_alone_that_the_service_stopped_are_an_error(chat: Chat, streamed: bool) -> None:
    async def thinking() -> Any:
        content = Content(role="model", parts=[Part(text="hm", thought=True)])
        if streamed:
            yield LlmResponse(content=content, partial=True)
        yield LlmResponse(content=content, finish_reason=FinishReason.MAX_TOKENS)

    event = chat(thinking).say("tea", **({"run_config": STREAMED} if streamed else {}))[-1]
    assert event.error_code == "MAX_TOKENS"
    assert "the answer is cut" in (event.error_message or "")
    assert event.content is not None  # what was thought is kept


@pytest.mark.parametrize("reason", [FinishReason.STOP, None])
def test_thoughts_alone_at_the_end_are_an_error(chat: Chat, reason: FinishReason | None) -> None:
    async def thinking() -> Any:
        content = Content(role="model", parts=[Part(text="hm", thought=True)])
        yield LlmResponse(content=content, finish_reason=reason)

    thoughts, error = chat(thinking).say("tea")
    assert thoughts.error_code is None
    assert error.error_code == "UNKNOWN_ERROR"
    assert "answered with thoughts alone" in (error.error_message or "")


def test_thoughts_before_an_answer_are_none(chat: Chat) -> None:
    async def thinking() -> Any:
        yield LlmResponse(content=Content(role="model", parts=[Part(text="hm", thought=True)]))
        yield text("tea")

    assert [event.error_code for event in chat(thinking).say("tea")] == [None, None]


@pytest.mark.parametrize("answers", [nothing_at_all, an_empty_response, no_parts, only_counts])
def test_a_model_that_says_nothing_leaves_an_error(chat: Chat, answers: Answers) -> None:
    one = chat(answers)
    (event,) = one.say("tea")
    assert event.error_code == "UNKNOWN_ERROR"
    assert "local" in (event.error_message or "")
    stored = one.session.events[-1]
    assert stored.error_code == "UNKNOWN_ERROR"
    if answers is only_counts:
        assert stored.usage_metadata is not None
        assert stored.usage_metadata.prompt_token_count == 3


def test_counts_that_follow_an_answer_are_no_error(chat: Chat) -> None:
    async def answers() -> Any:
        yield text("tea")
        yield LlmResponse(usage_metadata=GenerateContentResponseUsageMetadata(prompt_token_count=3))

    assert [event.error_code for event in chat(answers).say("tea")] == [None]


def test_an_error_of_the_models_own_stays(chat: Chat) -> None:
    async def answers() -> Any:
        yield LlmResponse(error_code="SAFETY", error_message="no")

    assert [event.error_code for event in chat(answers).say("tea")] == ["SAFETY"]


@pytest.mark.parametrize(("settings", "ran"), [({}, 100), ({"tool_calls": {"max_calls": 3}}, 3)])
def test_calls_beyond_the_bound_are_left_out(chat: Chat, settings: Any, ran: int, caplog: Any) -> None:
    brewed: list[int] = []
    asked = iter([[Part(function_call=FunctionCall(name="brew", args={"cup": n})) for n in range(10_000)]])

    async def brew(cup: int) -> None:
        brewed.append(cup)

    async def answers() -> Any:
        parts = next(asked, None)
        yield LlmResponse(content=Content(role="model", parts=parts)) if parts is not None else text("done")

    one = chat(answers, [brew], **settings)
    turn = one.say("tea")
    assert turn.text == "done"
    assert brewed == list(range(ran))
    assert len(turn.calls) == len(turn.results) == ran
    assert one.session.events[1].custom_metadata == {"calls_left_out": 10_000 - ran}
    assert "tool_calls.max_calls" in caplog.text


async def _next(deadline: Deadline, items: AsyncGenerator[Any, None]) -> Any:
    with deadline:
        return await anext(items)


def test_a_deadline_cancels_what_it_waits_for_and_nothing_else() -> None:
    async def items() -> AsyncGenerator[int, None]:
        yield 1
        await asyncio.sleep(60)

    async def run() -> list[object]:
        found: list[object] = []
        deadline, stream = Deadline(0.02), items()
        found.append(await _next(deadline, stream))
        await asyncio.sleep(0.03)  # the caller's own time is not cancelled
        with pytest.raises(DeadlineError):
            await _next(deadline, stream)
        await stream.aclose()
        deadline, stream = Deadline(0.02), items()
        await _next(deadline, stream)
        with pytest.raises(DeadlineError):
            await _next(deadline, stream)
        task = asyncio.current_task()
        assert task is not None
        found.append(task.cancelling())
        return found

    assert asyncio.run(run()) == [1, 0]


def test_a_cancellation_from_outside_stays_one() -> None:
    async def items() -> AsyncGenerator[int, None]:
        await asyncio.sleep(60)
        yield 1

    async def run() -> bool:
        deadline = Deadline(0.01)
        task = asyncio.create_task(_next(deadline, items()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        deadline.close()
        return task.cancelled()

    assert asyncio.run(run())
