"""Plain chunks: chunks of LiteLLM that hold one text and nothing else, as most chunks of a stream do.

Dumping such an object costs three times as much as all other work on a chunk.
"""

from __future__ import annotations

from typing import Any

#: Further fields of a chunk, which nothing reads.
_UNREAD = frozenset(("id", "created", "object", "system_fingerprint", "service_tier"))
_CHUNK = _UNREAD | {"choices", "model"}


def plain_text(chunk: Any) -> str | None:
    """The text of a chunk, if it holds nothing else; else None.

    Which fields of such an object are declared, and which are extra, differs between releases.
    """
    fields = vars(chunk)
    choices = fields.get("choices")
    if not choices or len(choices) != 1 or any(map(fields.get, fields.keys() - _CHUNK)):
        return None
    more = chunk.__pydantic_extra__
    if more and any(more.values()) and any(map(more.get, more.keys() - _UNREAD)):
        return None
    count, delta = _values(choices[0], "delta")
    if count != 1 or delta is None:  # an index other than 0 counts as a further field, too
        return None
    count, text = _values(delta, "content")
    if count != 1:
        count -= bool(_values(delta, "role")[1])
    return text if count == 1 and text and text.__class__ is str else None


def _values(value: Any, name: str) -> tuple[int, Any]:
    """How many fields of an object are set, and the value of `name`. Reading attributes takes ten times as long."""
    fields, more = vars(value), value.__pydantic_extra__
    count = sum(map(bool, fields.values()))
    if not more:
        return count, fields.get(name)
    return count + sum(map(bool, more.values())), more.get(name) or fields.get(name)
