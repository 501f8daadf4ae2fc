"""Cache marks: where the unchanging start of a request ends, so that the service can keep it."""

from __future__ import annotations

from newel.models.anthropic.blocks import THINKING
from newel.models.google.request_keys import CACHE_CONFIG, CACHEABLE_TOKENS
from newel_kernel import Json, LlmRequest

#: The lifetime, in seconds, beyond which the longer of the two is requested.
_SHORT = 300


def mark(body: Json, request: LlmRequest) -> None:
    """Mark the tools, the system instruction and the last message that stays, if the app caches its requests.

    Marked items are copied first, because messages are kept for the next request.
    """
    settings = request.stash.get(CACHE_CONFIG, None)
    if settings is None or (request.stash.get(CACHEABLE_TOKENS, None) or 0) < settings.min_tokens:
        return
    control: Json = {"type": "ephemeral", "ttl": "1h" if settings.ttl_seconds > _SHORT else "5m"}
    if body.get("tools"):
        kept = [tool for tool in body["tools"] if not tool.get("defer_loading")]  # the others are not in the prompt
        body["tools"] = [*(_marked(kept, control) if kept else ()), *body["tools"][len(kept) :]]
    if body.get("system"):
        body["system"] = _marked(body["system"], control)
    messages: list[Json] = body["messages"]
    # The user's latest message differs each time, and instructions come before it.
    for index in range(len(messages) - 2, -1, -1):
        message = messages[index]
        if message["role"] == "assistant" and message["content"][-1]["type"] not in THINKING:
            content = _marked(message["content"], control)
            body["messages"] = [*messages[:index], {**message, "content": content}, *messages[index + 1 :]]
            return


def _marked(items: list[Json], control: Json) -> list[Json]:
    return [*items[:-1], {**items[-1], "cache_control": control}]
