"""Estimates: a call is held at its most, also with media, files and tools of the service, and learns from reports."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.plugins.budgets.test_spending import Parrot, Shop, distribution

from newel.agents import LlmAgent, ParallelAgent, SequentialAgent
from newel.budgets import BudgetExceededError
from newel.budgets.estimates import Experience
from newel.budgets.prices import Pricing, tokens_of_request
from newel.budgets.settings import Settings
from newel.models import BaseLlm, LlmResponse
from newel.models.wire.usage import token_usage
from newel_kernel import LlmRequest
from newel_types import (
    Blob,
    Content,
    FileData,
    FunctionResponse,
    FunctionResponseBlob,
    FunctionResponsePart,
    GenerateContentConfig,
    GoogleSearch,
    Part,
    Tool,
)

KILOBYTE = b"\0" * 1_000


class Model(BaseLlm):
    """A model of a name and a provider."""

    model: str = "claude-opus-5"
    networked: ClassVar[bool] = False
    named: str = "anthropic"

    @property
    def provider_name(self) -> str:
        return self.named

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        yield LlmResponse()


def asked(*parts: Part, **config: Any) -> LlmRequest:
    contents = [Content(role="user", parts=list(parts))]
    return LlmRequest(contents=contents, config=GenerateContentConfig(max_output_tokens=1, **config))


def most(request: LlmRequest, model: str = "claude-opus-5", provider: str = "anthropic") -> int:
    return Pricing(Settings(), Model(model=model, named=provider), request).most("tokens", 60)


def of(mime_type: str, data: bytes) -> Part:
    return Part(inline_data=Blob(mime_type=mime_type, data=data))


#: The tokens that providers document: of an image of the largest size, a second of sound or film, and a page.
@pytest.mark.parametrize(
    ("part", "model", "provider", "tokens"),
    [
        (of("image/png", KILOBYTE), "claude-opus-5", "anthropic", 4_784),
        (of("image/png", KILOBYTE), "gpt-4o-mini", "openai", 2_833 + 8 * 5_667),
        (of("image/png", KILOBYTE), "gpt-5.6", "openai", 10_000),
        (of("image/jpeg", KILOBYTE), "gemini-2.5-flash", "gemini", 16 * 258),
        (of("audio/wav", KILOBYTE * 8 * 60), "gemini-2.5-flash", "gemini", 60 * 32),  # 8 kHz, a byte each
        (of("audio/ogg", KILOBYTE * 45), "gemini-2.5-flash", "gemini", 60 * 32),  # speech, 6 kbit/s
        (of("video/mp4", KILOBYTE * 100 * 8), "gemini-2.5-flash", "gemini", 60 * 263),  # 100 kbit/s
        (of("application/pdf", KILOBYTE * 40), "claude-opus-5", "anthropic", 10 * 4_000),
        (of("text/plain", b"A word or two. " * 1_000), "claude-opus-5", "anthropic", 4_000),
    ],
)
def test_media_are_held_at_least_at_what_providers_document(part: Part, model: str, provider: str, tokens: int) -> None:
    assert most(asked(part), model, provider) >= tokens


def test_media_in_the_result_of_a_tool_count() -> None:
    image = FunctionResponsePart(inline_data=FunctionResponseBlob(mime_type="image/png", data=KILOBYTE))
    plain = FunctionResponse(id="1", name="look", response={"seen": True})
    shown = FunctionResponse(id="1", name="look", response={"seen": True}, parts=[image])
    assert most(asked(Part(function_response=shown))) >= most(asked(Part(function_response=plain))) + 4_784


@pytest.mark.parametrize(
    "request_",
    [
        asked(Part(file_data=FileData(file_uri="gs://b/film", mime_type="video/mp4"))),
        asked(Part(text="Look it up."), tools=[Tool(google_search=GoogleSearch())]),
        asked(Part(text="Go on."), cached_content="cachedContents/1"),
    ],
    ids=["file", "search", "cache"],
)
def test_what_only_the_service_knows_may_fill_the_window(request_: LlmRequest) -> None:
    assert most(request_, "gemini-2.5-flash", "gemini") == 1_048_576 + 1
    assert most(request_, "nobody-knows-this", "openai") == 128_000 + 1


def test_no_request_has_more_than_the_window() -> None:
    assert most(asked(of("video/mp4", KILOBYTE * 20_000))) == 200_000 + 1


def test_an_answer_may_be_as_long_as_the_request_the_catalogue_or_the_window_says() -> None:
    def written(model: str, **config: Any) -> int:
        request = LlmRequest(contents=[], config=GenerateContentConfig(**config))
        return Pricing(Settings(), Model(model=model), request).most("tokens", 60) - 100

    assert written("claude-opus-5", max_output_tokens=5) == 5
    assert written("claude-opus-5", max_output_tokens=5, candidate_count=3) == 15
    assert written("claude-opus-5") == 128_000
    assert written("gpt-4o") == 16_384
    assert written("nobody-knows-this") == 128_000


def test_reports_beyond_the_estimate_are_remembered_within_bounds() -> None:
    experience, request = Experience(), asked(Part(text="word " * 2_000))
    model = Model(model="nobody-knows-this")
    estimate = tokens_of_request(request, "anthropic")

    def held() -> int:
        return Pricing(Settings(), model, request, experience).most("tokens", 60)

    first = held()
    usage = token_usage(prompt=estimate * 3, output=700)
    assert usage is not None
    Pricing(Settings(), model, request, experience).learn(usage)
    assert first < estimate * 2
    assert held() >= estimate * 3 + 700
    odd = token_usage(prompt=10**30, output=10**30)
    assert odd is not None
    Pricing(Settings(), model, request, experience).learn(odd)
    assert held() < 2**40
    with_image = asked(of("image/png", KILOBYTE))
    other = Experience()
    Pricing(Settings(), model, with_image, other).learn(usage)
    assert (other.factor, other.slack) == (Experience().factor, Experience().slack)


def test_a_model_that_reads_and_writes_more_than_was_estimated_overdraws_by_one_call(tmp_path: Path) -> None:
    """It reports 1,000 tokens read and 100 written, of a short message and at most 10. Its first call tells."""
    composed = distribution(tmp_path, {"per": "app", "tokens": 8_000})
    config = GenerateContentConfig(max_output_tokens=10)

    def agent(name: str) -> LlmAgent:
        return LlmAgent(name=name, model=Parrot(), generate_content_config=config)

    async def check() -> None:
        at_once = ParallelAgent(name="all", sub_agents=[agent(f"a{number}") for number in range(8)])
        shop = Shop(SequentialAgent(name="root", sub_agents=[agent("first"), at_once]), composed)
        with pytest.raises((BudgetExceededError, BaseExceptionGroup)):
            await shop.ask()
        assert 8_000 <= (await shop.accounts())["app", "tokens"] <= 8_000 + 1_100

    asyncio.run(check())
