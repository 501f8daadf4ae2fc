"""The stored form of events that are texts alone, as most are, at a quarter of what the general form costs.

It is the same form. What a reader will see is known without reading it back: texts and numbers do not change.
"""

from __future__ import annotations

from operator import attrgetter

from pydantic_core import PydanticSerializationError, from_json, to_json

from newel_kernel import Event, Json
from newel_types import Content, Part, is_text

_RARE_FIELDS = (
    "touched_actions",
    "touched_node_info",
    "output",
    "custom_metadata",
    "usage_metadata",
    "finish_reason",
    "model_version",
    "long_running_tool_ids",
    "partial",
    "isolation_scope",
)
_rare_of, _NOTHING_RARE = attrgetter(*_RARE_FIELDS), (None,) * len(_RARE_FIELDS)
_BEGINNING = b'{"content":{"parts":[{"text":'
_STR = {str}
_NO_SPARSE = Event.no_sparse


def encode_texts(event: Event) -> tuple[Event, bytes] | None:
    """The event as it is read back, not frozen yet, and its JSON; None if it holds more than texts."""
    content = event.content
    if (
        event.__class__ is not Event
        or content.__class__ is not Content
        or event.sparse_values is not _NO_SPARSE
        or _rare_of(event) != _NOTHING_RARE
        or hasattr(event, "_extra")
        or hasattr(content, "_extra")
    ):
        return None
    assert content is not None
    texts = _texts(content.parts)
    if texts is None or not event.id or not event.id.__class__ is event.author.__class__ is str:
        return None
    # One check a line, for speed: every append passes through here.
    if event.invocation_id.__class__ is not str or (event.branch or "").__class__ is not str:
        return None
    return _encoded(event, content.role, texts) if (content.role or "").__class__ is str else None


def _texts(parts: object) -> list[str] | None:
    if parts.__class__ is not list:
        return None
    texts = []
    for part in parts:
        if part.__class__ is not Part or part.text.__class__ is not str or not is_text(part):
            return None
        if part.thought is not None or part.thought_signature is not None or hasattr(part, "_extra"):
            return None
        texts.append(part.text)
    return texts


def _encoded(event: Event, role: str | None, texts: list[str]) -> tuple[Event, bytes] | None:
    time = event.timestamp
    if time.__class__ is not float or not -1e300 < time < 1e300:
        return None
    inner: Json = {"parts": [{"text": text} for text in texts]}
    if role is not None:
        inner["role"] = role
    document: Json = {"content": inner, "invocationId": event.invocation_id, "author": event.author}
    if event.branch is not None:
        document["branch"] = event.branch
    document["id"], document["timestamp"] = event.id, time
    try:
        data = to_json(document)
    except PydanticSerializationError:  # a lone surrogate: the general form says where
        return None
    content = Content(role=role, parts=[Part(text=text) for text in texts])
    copy = Event(event.invocation_id, event.author, content, branch=event.branch, id=event.id, timestamp=time)
    return copy, data


def decode_texts(data: str | bytes) -> Event | None:
    """The event of JSON from `encode_texts`, not frozen yet; None if it holds more than texts, or is damaged."""
    if data[: len(_BEGINNING)] not in (_BEGINNING, _BEGINNING.decode()):  # nearly all that have more show it here
        return None
    try:
        document: Json = from_json(data)
        inner: Json = document["content"]
        texts = [part["text"] for part in inner["parts"] if len(part) == 1]
        names = (document["invocationId"], document["author"], document["id"])
        time = document["timestamp"]
    except (ValueError, LookupError, TypeError):
        return None
    role, branch = inner.get("role", ""), document.get("branch", "")
    if (
        inner["parts"].__class__ is not list
        or len(texts) != len(inner["parts"])
        or not document["id"]
        or len(document) != 5 + ("branch" in document)
        or len(inner) != 1 + ("role" in inner)
        or time.__class__ is not float
        or {*map(type, texts), *map(type, names), type(role), type(branch)} != _STR
    ):
        return None
    content = Content(role=inner.get("role"), parts=[Part(text=text) for text in texts])
    invocation_id, author, id = names
    return Event(invocation_id, author, content, branch=document.get("branch"), id=id, timestamp=time)
