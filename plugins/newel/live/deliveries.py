"""Deliveries: the calls that a live service has sent. It may send one twice, which must not run twice."""

from __future__ import annotations

import json

from newel_kernel import InvocationContext, Key, LlmResponse
from newel_types import Content, FunctionCall

#: The calls that were delivered in this invocation, over whichever connection.
_DELIVERED: Key[set[str]] = Key("live_deliveries", set)


def drop_repeats(context: InvocationContext, response: LlmResponse) -> None:
    """Take the calls out of a response that its agent got before: the same id, tool and arguments."""
    content = response.content
    if content is None or response.partial:
        return
    delivered, parts = context.stash[_DELIVERED], []
    for part in content.parts or ():
        if (call := part.function_call) is not None and call.id:
            if (key := _key(context.agent.name, call)) in delivered:
                continue
            delivered.add(key)
        parts.append(part)
    if len(parts) != len(content.parts or ()):
        response.content = Content(role=content.role, parts=parts) if parts else None


def _key(agent: str, call: FunctionCall) -> str:
    return json.dumps([agent, call.id, call.name, call.args or {}], sort_keys=True, default=str)
