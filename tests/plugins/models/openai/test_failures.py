"""What goes wrong on the wire, and what is left behind: one error, no half answers, no key, no open socket."""

from __future__ import annotations

import asyncio
import gc
import logging
import traceback
from collections.abc import Callable
from contextlib import aclosing

import pytest

from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel.models.openai.model import OpenAIModel
from newel.testing.wire import WireServer, fault
from newel.testing.wire.answers import LONG, Answer, text
from newel.testing.wire.caller import user
from newel.testing.wire.faults import FAULTS
from newel_kernel import LlmRequest, LlmResponse, ModelError
from newel_types import GenerateContentConfig, HttpRetryOptions

KEY = "sk-test-SECRET-0123456789"
BOTH = pytest.mark.parametrize("stream", [False, True])
EVERY = pytest.mark.parametrize("kind", [OpenAILlm, OpenAIResponsesLlm])
Kind = type[OpenAIModel]
_ONCE = HttpRetryOptions(attempts=1)
_SHORT = {"stall": 400, "stream_stall": 400}


def request(timeout: int | None = None) -> LlmRequest:
    config = GenerateContentConfig.model_validate({"http_options": {"timeout": timeout}} if timeout else {})
    return LlmRequest(model="gpt-4o", contents=[user("Hi")], config=config)


async def ask(model: OpenAIModel, stream: bool, timeout: int | None = None) -> list[LlmResponse]:
    return [one async for one in model.generate_content_async(request(timeout), stream=stream)]


@EVERY
@BOTH
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_error(
    name: str, stream: bool, kind: Kind, server: WireServer, caplog: pytest.LogCaptureFixture
) -> None:
    if FAULTS[name].within and not stream:
        return
    caplog.set_level(logging.DEBUG)
    server.script(fault(name, **({"message": f"bad key {KEY}"} if FAULTS[name].status >= 400 else {})))
    shown: list[LlmResponse] = []

    async def collect() -> None:
        model = kind(model="gpt-4o", retry_options=_ONCE)
        async for response in model.generate_content_async(request(_SHORT.get(name)), stream=stream):
            shown.append(response)

    with pytest.raises(ModelError) as caught:
        asyncio.run(collect())
    error = caught.value
    assert all(response.partial for response in shown)
    assert (error.provider, error.model) == (kind(model="x").provider, "gpt-4o")
    assert error.code
    assert len(server.log) == 1
    told = "".join(traceback.format_exception(error)) + caplog.text + repr(error.__cause__)
    assert KEY not in told
    if FAULTS[name].passes:
        assert error.retryable
    if FAULTS[name].status >= 400:
        assert error.request_id is not None


@EVERY
@pytest.mark.parametrize("name", [name for name in FAULTS if FAULTS[name].passes])
def test_a_fault_that_passes_is_outlived(name: str, kind: Kind, server: WireServer) -> None:
    server.script(fault(name, retry_after=0) if FAULTS[name].status >= 400 else fault(name), LONG)
    (response,) = asyncio.run(ask(kind(model="gpt-4o"), False))
    assert response.error_code is None
    assert len(server.log) == 2


@EVERY
def test_the_sdk_repeats_nothing_itself(kind: Kind, server: WireServer) -> None:
    server.script(fault("500", retry_after=0))
    with pytest.raises(ModelError):
        asyncio.run(ask(kind(model="gpt-4o", retry_options=HttpRetryOptions(attempts=2)), False))
    assert len(server.log) == 2


@EVERY
@BOTH
def test_turns_share_a_client_and_a_connection(stream: bool, kind: Kind, server: WireServer) -> None:
    server.script(Answer(parts=(text("Hello."),)))

    async def talk() -> None:
        model = kind(model="gpt-4o")
        for _ in range(20):
            await ask(model, stream)

    asyncio.run(talk())
    assert len(server.log) == 20
    assert server.connections == 1


@EVERY
def test_cancelling_a_stream_closes_its_socket(kind: Kind, server: WireServer) -> None:
    server.script(LONG.having(pause=0.05))

    async def cancel() -> None:
        first = asyncio.Event()

        async def read() -> None:
            async for _ in kind(model="gpt-4o").generate_content_async(request(), stream=True):
                first.set()

        task = asyncio.create_task(read())
        await first.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.left.wait, 5)

    asyncio.run(cancel())


@EVERY
def test_abandoned_streams_leave_nothing(kind: Kind, server: WireServer) -> None:
    server.script(LONG)

    async def abandon() -> int:
        model = kind(model="gpt-4o")
        for _ in range(40):
            stream = model.generate_content_async(request(), stream=True)
            async with aclosing(stream):
                await anext(stream)
        gc.collect()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*left)
        await model.aclose()
        return len(asyncio.all_tasks())

    assert asyncio.run(abandon()) == 1


def test_a_model_works_in_several_event_loops(server: WireServer) -> None:
    model = OpenAILlm(model="gpt-4o")
    server.script(LONG)
    for _ in range(3):
        asyncio.run(ask(model, True))
    assert server.connections == 3


def test_a_leaked_key_of_another_endpoint_is_not_sent(server: WireServer) -> None:
    server.script(LONG)
    make: Callable[[], OpenAIModel] = lambda: OpenAILlm(  # noqa: E731
        model="m", endpoint="lab", base_url=server.base["compatible"]
    )
    asyncio.run(ask(make(), False))
    assert KEY not in str(server.log[-1].headers)


def test_offline_opens_no_socket(monkeypatch: pytest.MonkeyPatch, server: WireServer) -> None:
    monkeypatch.setenv("NEWEL_OFFLINE", "1")
    with pytest.raises(ModelError, match="NEWEL_OFFLINE"):
        asyncio.run(ask(OpenAILlm(model="x", base_url="https://api.example.invalid/v1"), False))


