"""Cache breakpoints: which prefixes of a request OpenAI keeps, for the models that let us choose.

They find a prefix if an earlier request had a breakpoint at its end, and charge more for what they write. By themselves
they set one at the end of a request. Ours is at the end of the instructions, with which other sessions begin, too.
"""

from __future__ import annotations

from newel.models.capabilities import fact_of
from newel.models.wire.cache_marks import CONTINUES, is_cached
from newel_kernel import Json, LlmRequest

_BREAKPOINT: Json = {"mode": "explicit"}


def mark(body: Json, request: LlmRequest, provider: str) -> None:
    """Set a breakpoint in the body of a request, if it is cached.

    The only request of a conversation has none at its end, since nobody would read what is written there. Later ones
    need it to find what those before them wrote.
    """
    messages: list[Json] = body["messages"]
    first, model = messages[0], body["model"]
    if not fact_of(provider, model, "cache_breakpoints") or not isinstance(first["content"], str):
        return
    if not is_cached(request, provider, model, body.get("tools"), messages):
        return
    if first["role"] in ("developer", "system"):
        part = {"type": "text", "text": first["content"], "prompt_cache_breakpoint": _BREAKPOINT}
        body["messages"] = [{**first, "content": [part]}, *messages[1:]]
    if not request.stash.get(CONTINUES, True) and all(message["role"] != "assistant" for message in messages):
        body.setdefault("prompt_cache_options", _BREAKPOINT)
