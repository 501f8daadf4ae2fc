"""Token estimates against the counts of real tokenizers: o200k_base, Claude's last published one, and Gemini's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.models.token_estimates import MOST, tokens_of_content, tokens_of_text
from newel_types import Blob, Content, FileData, FunctionCall, FunctionResponse, Part

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


def pdf(pages: int) -> bytes:
    return b"%PDF-1.7 /Type /Pages " + b"1 0 obj << /Type /Page /Parent 2 0 R >> endobj " * pages


@pytest.mark.parametrize(
    ("mime", "data", "provider", "least", "most"),
    [
        ("image/png", b"x" * 500_000, "anthropic", 1_000, 2_000),
        ("application/pdf", pdf(30), "anthropic", 60_000, 120_000),
        ("application/pdf", pdf(30), "gcp.gemini", 7_700, 12_000),
        ("application/pdf", b"%PDF-1.7 " + b"z" * 500_000, "openai", 10_000, 30_000),
        ("audio/wav", b"x" * 32_000 * 60, "gcp.gemini", 1_900, 2_000),  # a minute at 16 kHz, 32 tokens a second
        ("audio/mpeg", b"x" * 8_000 * 60, "gcp.gemini", 1_900, 2_000),
        ("audio/pcm;rate=16000", b"x" * 32_000 * 60, "gcp.gemini", 1_900, 2_000),
        ("video/mp4", b"x" * 290_000 * 60, "gcp.gemini", 15_000, 20_000),
        ("text/plain", b"word " * 1_000, "openai", 900, 1_500),
        ("application/x-thing", b"x", "openai", 500, 2_000),
    ],
)
def test_media_count_by_their_pages_and_seconds(mime: str, data: bytes, provider: str, least: int, most: int) -> None:
    part = Part(inline_data=Blob(data=data, mime_type=mime))
    assert least <= tokens_of_content(Content(role="user", parts=[part]), provider) <= most


def test_a_file_that_is_elsewhere_counts_something() -> None:
    part = Part(file_data=FileData(file_uri="gs://a/b.pdf", mime_type="application/pdf"))
    assert tokens_of_content(Content(role="user", parts=[part])) > 500
