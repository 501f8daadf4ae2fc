"""Recorded requests: the key by which a recorded answer belongs to its request."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from newel_kernel import LlmRequest


def key_of(request: LlmRequest, *, model: str = "", sample: str = "") -> str:
    """The key of a model call, without the ids of function calls, which are new each time."""
    config = request.config.model_dump(mode="json", exclude_none=True, exclude={"http_options", "labels"})
    contents = [content.model_dump(mode="json", exclude_none=True) for content in request.contents]
    for content in contents:
        _drop_ids(content)
    data = json.dumps([model, contents, config, sample], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _drop_ids(content: dict[str, Any]) -> None:
    for part in content.get("parts") or ():
        for name in ("function_call", "function_response"):
            if isinstance(part.get(name), dict):
                part[name].pop("id", None)


def last_text(request: LlmRequest, most: int = 80) -> str:
    """The end of the conversation, for messages."""
    parts = [part for content in request.contents for part in content.parts or ()]
    text = next((part.text for part in reversed(parts) if part.text and not part.thought), "")
    return text if len(text) <= most else f"{text[: most - 1]}…"
