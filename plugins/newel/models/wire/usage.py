"""Usage: the token counts of a call, in one shape for every protocol."""

from __future__ import annotations

from newel_types import GenerateContentResponseUsageMetadata


def token_usage(
    *,
    prompt: int | None,
    output: int | None,
    cached: int | None = None,
    written: int | None = None,
    thoughts: int | None = None,
) -> GenerateContentResponseUsageMetadata | None:
    """`prompt` includes the tokens read from a cache and written to it, `output` includes the thoughts.

    None if the service reported nothing. Written tokens are kept as ``cache_write_token_count``.
    """
    if prompt is None and output is None:
        return None
    candidates = None if output is None else max(0, output - (thoughts or 0))
    usage = GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt,
        cached_content_token_count=cached,
        candidates_token_count=candidates,
        thoughts_token_count=thoughts,
        total_token_count=(prompt or 0) + (output or 0),
    )
    return usage if written is None else usage.model_copy(update={"cache_write_token_count": written})
