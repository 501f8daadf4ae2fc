"""Plain chunks: chunks of the SDK that hold one text and nothing else of interest, as most chunks of a stream do.

Converting the whole object costs several times as much as all other work on a chunk.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from newel_types import GenerateContentResponseUsageMetadata as _Usage

_CHUNK = frozenset(("candidates", "model_version", "response_id", "usage_metadata", "sdk_http_response"))
_CANDIDATE = frozenset(("content", "index"))
_CONTENT = frozenset(("parts", "role"))
_PART = frozenset(("text", "thought"))
#: The fields of usage metadata that are numbers.
_COUNTS = frozenset(
    (
        "cached_content_token_count",
        "candidates_token_count",
        "prompt_token_count",
        "thoughts_token_count",
        "tool_use_prompt_token_count",
        "total_token_count",
    )
)
#: The fields of empty usage metadata, and the setters for the parts of a model's state.
_UNSET = vars(_Usage())
_set_fields, _set_names, _set_extra, _set_private = (
    vars(BaseModel)[name].__set__
    for name in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


def plain_text(chunk: Any) -> Any:
    """The one part of a chunk of the SDK, if it is a text and the chunk holds nothing else; else None."""
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
        part.__pydantic_fields_set__ <= _PART
        and content.__pydantic_fields_set__ <= _CONTENT
        and candidate.__pydantic_fields_set__ <= _CANDIDATE
        and chunk.__pydantic_fields_set__ <= _CHUNK
        and (counted is None or counted.__pydantic_fields_set__ <= _COUNTS)
    ):
        return part
    plain = (
        _only(part, _PART)
        and _only(content, _CONTENT)
        and _only(candidate, _CANDIDATE)
        and _only(chunk, _CHUNK)
        and (counted is None or _only(counted, _COUNTS))
    )
    return part if plain else None


def usage_of(metadata: Any) -> _Usage | None:
    """The counts of a plain chunk."""
    if metadata is None:
        return None
    fields, names = vars(metadata), metadata.__pydantic_fields_set__
    if _alike(metadata.__class__) and None not in map(fields.get, names):
        values, own = fields.copy(), names.copy()
    else:
        own = {name for name in names if fields[name] is not None}
        values = {**_UNSET, **{name: fields[name] for name in own}}
    # The values are numbers already: building the object by hand costs a fourth of validating it.
    usage = _Usage.__new__(_Usage)
    _set_fields(usage, values)
    _set_names(usage, own)
    _set_extra(usage, {})
    _set_private(usage, None)
    return usage


@lru_cache(maxsize=4)
def _alike(kind: type[BaseModel]) -> bool:
    """Whether the SDK's class has the same fields as ours."""
    return kind.model_fields.keys() == _UNSET.keys()


def _only(value: Any, names: frozenset[str]) -> bool:
    """Whether all fields of an object of the SDK except `names` are unset or None."""
    return all(getattr(value, name) is None for name in value.model_fields_set - names)
