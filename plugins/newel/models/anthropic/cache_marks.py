"""Cache marks of a message: the ends of the tools, of the instruction, and of this request and the one before."""

from __future__ import annotations

from newel.models.wire.cache_marks import control_of, ends
from newel_kernel import Json, LlmRequest


def mark(body: Json, request: LlmRequest) -> None:
    """Mark what the next requests will begin with, if requests are cached.

    Marked items are copied first, because messages are kept for the next request.
    """
    messages: list[Json] = body["messages"]
    control = control_of(request, body["model"], body.get("tools"), body.get("system"), messages)
    if control is None:
        return
    if body.get("tools"):
        kept = [tool for tool in body["tools"] if not tool.get("defer_loading")]  # the others are not in the prompt
        body["tools"] = [*(_marked(kept, control) if kept else ()), *body["tools"][len(kept) :]]
    if body.get("system"):
        body["system"] = _marked(body["system"], control)
    body["messages"] = messages = [*messages]
    for index in ends(request, [message["role"] for message in messages]):
        messages[index] = {**messages[index], "content": _marked(messages[index]["content"], control)}


def _marked(items: list[Json], control: Json) -> list[Json]:
    return [*items[:-1], {**items[-1], "cache_control": control}]
