"""The released names of what lives in this room."""

from __future__ import annotations

from importlib import import_module

import pytest

from newel.models import google


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("newel.models", "Gemini"),
        ("newel.models.google_llm", "Gemini"),
        ("newel.models.gemini_context_cache_manager", "GeminiContextCacheManager"),
        ("newel.utils.streaming_utils", "StreamingResponseAggregator"),
    ],
)
def test_is_the_same_object(module: str, name: str) -> None:
    assert getattr(import_module(module), name) is getattr(google, name)
