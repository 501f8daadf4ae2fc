"""Retries, event loops and keys; `test_conformance` has every fault."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable

import pytest

from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel.models.openai.model import OpenAIModel
from newel.models.wire.limits import LIMITS, Limits
from newel_kernel import LlmRequest, LlmResponse, ModelError
from newel_testkit.wire import WireServer, fault
from newel_testkit.wire.answers import LONG, text
from newel_testkit.wire.caller import user
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


def test_headers_of_the_environment_are_secrets_and_go_to_openai_only(
    monkeypatch: pytest.MonkeyPatch, server: WireServer
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: Bearer gateway-SECRET-1\nX-Team: a")
    server.script(LONG)
    asyncio.run(ask(OpenAILlm(model="gpt-4o"), False))
    sent = server.log[-1].headers
    assert (sent["x-gateway"], sent["x-team"]) == ("Bearer gateway-SECRET-1", "a")
    asyncio.run(ask(OpenAILlm(model="m", endpoint="lab", base_url=server.base["compatible"]), False))
    assert "gateway" not in str(server.log[-1].headers)
    server.script(fault("401", message="gateway-SECRET-1 is wrong"))
    with pytest.raises(ModelError) as caught:
        asyncio.run(ask(OpenAILlm(model="gpt-4o"), False))
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__cause__)
    assert "gateway-SECRET" not in told
    assert "[api key] is wrong" in str(caught.value)


@EVERY
def test_each_bound_of_an_answer_holds(kind: Kind, server: WireServer) -> None:
    """A client is made for its bound, whichever bound the first call had."""
    server.script(LONG.having(parts=(text("word " * 4000),)))

    async def both() -> list[bool]:
        model, found = kind(model="gpt-4o", retry_options=HttpRetryOptions(attempts=1)), []
        for most in (16_000_000, 1_000, 16_000_000):
            request = LlmRequest(model="gpt-4o", contents=[user("Hi")])
            request.stash[LIMITS] = Limits(response_bytes=most)
            try:
                found.append(bool([one async for one in model.generate_content_async(request)]))
            except ModelError as error:
                found.append(error.code != "RESPONSE_TOO_LARGE")
        return found

    assert asyncio.run(both()) == [True, False, True]
