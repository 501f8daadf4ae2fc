"""Token estimates against the counts of real tokenizers: o200k_base, Claude's last published one, and Gemini's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.models.token_estimates import MOST, tokens_of_content, tokens_of_text
from newel_types import Blob, Content, FunctionCall, FunctionResponse, Part

SAMPLES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).with_name("token_samples") / "samples.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gcp.gemini"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_an_estimate_is_within_15_percent(sample: str, provider: str) -> None:
    text, tokens = SAMPLES[sample]["text"], SAMPLES[sample]["tokens"][provider]
    assert abs(tokens_of_text(text, provider) / tokens - 1) <= 0.15


@given(st.text(max_size=10_000))
def test_no_text_has_more_tokens_than_the_bound_says(text: str) -> None:
    for provider in ("openai", "anthropic", "gcp.gemini"):
        assert 0 <= tokens_of_text(text, provider) <= MOST * len(text) + 1


def test_a_message_counts_its_calls_results_and_media() -> None:
    call = Part(function_call=FunctionCall(id="c", name="fetch", args={"page": "the first page of the report"}))
    result = Part(function_response=FunctionResponse(id="c", name="fetch", response={"text": "word " * 1000}))
    image = Part(inline_data=Blob(data=b"\x89PNG", mime_type="image/png"))
    assert 5 < tokens_of_content(Content(role="model", parts=[call])) < 30
    assert 900 < tokens_of_content(Content(role="user", parts=[result])) < 1200
    assert tokens_of_content(Content(role="user", parts=[image])) > 500
