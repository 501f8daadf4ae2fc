"""Plain chunks: those of the SDK that hold one text and nothing that needs a look, as most of a stream do.

Converting the whole object costs several times as much as all else that is done with a chunk.
"""

from __future__ import annotations

from typing import Any

from newel_types import GenerateContentResponseUsageMetadata

_CHUNK = frozenset(("candidates", "model_version", "response_id", "usage_metadata", "sdk_http_response"))
_CANDIDATE = frozenset(("content", "index"))
_CONTENT = frozenset(("parts", "role"))
_PART = frozenset(("text", "thought"))
#: Those of its fields that are numbers.
_COUNTS = frozenset(
    ("cached_content_token_count", "candidates_token_count", "prompt_token_count", "thoughts_token_count",
     "tool_use_prompt_token_count", "total_token_count")
)  # fmt: skip
#: Of usage metadata without any.
_STATE = GenerateContentResponseUsageMetadata().__getstate__()
_UNSET = _STATE["__dict__"]


def plain_text(chunk: Any) -> Any:
    """The one part of a chunk of the SDK, if that is a text and there is nothing besides; else None."""
    candidates = chunk.candidates
    if not candidates or len(candidates) != 1:
        return None
    candidate = candidates[0]
    content = candidate.content
    if content is None or not content.parts or len(content.parts) != 1:
        return None
    part = content.parts[0]
    counted = chunk.usage_metadata
    if not part.text:
        return None
    if (
        part.model_fields_set <= _PART
        and content.model_fields_set <= _CONTENT
        and candidate.model_fields_set <= _CANDIDATE
        and chunk.model_fields_set <= _CHUNK
        and (counted is None or counted.model_fields_set <= _COUNTS)
    ):
        return part
    plain = (
        _only(part, _PART) and _only(content, _CONTENT) and _only(candidate, _CANDIDATE) and _only(chunk, _CHUNK)
        and (counted is None or _only(counted, _COUNTS))
    )  # fmt: skip
    return part if plain else None


def usage_of(counted: Any) -> GenerateContentResponseUsageMetadata | None:
    """The counts of a plain chunk."""
    if counted is None:
        return None
    fields = vars(counted)
    counts = {name: fields[name] for name in counted.model_fields_set if fields[name] is not None}
    # They are numbers already. Made as unpickling makes it, it costs a fifth of what validating them does.
    usage = GenerateContentResponseUsageMetadata.__new__(GenerateContentResponseUsageMetadata)
    usage.__setstate__({**_STATE, "__dict__": {**_UNSET, **counts}, "__pydantic_fields_set__": set(counts)})
    return usage


def _only(value: Any, names: frozenset[str]) -> bool:
    """Whether nothing but `names` is set in an object of the SDK, other than to None."""
    return all(getattr(value, name) is None for name in value.model_fields_set - names)
