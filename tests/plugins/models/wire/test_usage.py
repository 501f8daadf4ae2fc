"""Usage in one shape."""

from __future__ import annotations

from newel.models.wire.usage import token_usage


def test_candidates_exclude_thoughts_and_the_total_is_prompt_and_output() -> None:
    usage = token_usage(prompt=2000, output=30, cached=300, written=1200, thoughts=22)
    assert usage.model_dump(exclude_none=True) == {
        "prompt_token_count": 2000,
        "cached_content_token_count": 300,
        "candidates_token_count": 8,
        "thoughts_token_count": 22,
        "total_token_count": 2030,
        "cache_write_token_count": 1200,
    }
    assert token_usage(prompt=None, output=None) is None
