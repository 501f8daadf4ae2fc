"""Retries, event loops and keys; `test_conformance` has every fault."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel.models.openai.model import OpenAIModel
from newel.testing.wire import WireServer, fault
from newel.testing.wire.answers import LONG
from newel.testing.wire.caller import user
from newel_kernel import LlmRequest, LlmResponse, ModelError
from newel_types import HttpRetryOptions

KEY = "sk-test-SECRET-0123456789"
EVERY = pytest.mark.parametrize("kind", [OpenAILlm, OpenAIResponsesLlm])
Kind = type[OpenAIModel]


async def ask(model: OpenAIModel, stream: bool) -> list[LlmResponse]:
    request = LlmRequest(model="gpt-4o", contents=[user("Hi")])
    return [one async for one in model.generate_content_async(request, stream=stream)]


@EVERY
def test_the_sdk_repeats_nothing_itself(kind: Kind, server: WireServer) -> None:
    server.script(fault("500", retry_after=0))
    with pytest.raises(ModelError):
        asyncio.run(ask(kind(model="gpt-4o", retry_options=HttpRetryOptions(attempts=2)), False))
    assert len(server.log) == 2


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
