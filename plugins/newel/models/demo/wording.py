"""Results in words: a tool's result as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from newel.models.offline.conversation import Exchange

_ERRORS = ("error", "error_message", "errors", "exception")
_FAILED = frozenset(("error", "failed", "failure"))
_MESSAGE_KEYS = ("report", "message", "result", "answer", "summary", "text", "output", "content")
_MOST = 8


def sentence(exchange: Exchange, *, with_arguments: bool = False) -> str:
    """The result of a call as a sentence, or why it failed."""
    arguments = f" ({worded(exchange.args)})" if with_arguments and exchange.args else ""
    if exchange.response is None:
        return f"`{exchange.name}`{arguments} has started; there is no result yet."
    problem = failure(exchange.response)
    if problem is not None:
        return f"`{exchange.name}`{arguments} failed: {_ended(problem)}"
    value = unwrapped(exchange.response)
    if value is None or value == {} or value == "":
        return f"`{exchange.name}`{arguments} is done; it returned nothing."
    if isinstance(value, str) and len(value.split()) > 3:
        return _ended(value) if not arguments else f"`{exchange.name}`{arguments} says: {_ended(value)}"
    return f"`{exchange.name}`{arguments} says: {_ended(worded(value))}"


def failure(response: Mapping[str, Any]) -> str | None:
    """What went wrong, or None."""
    for key in _ERRORS:
        if response.get(key):
            return worded(response[key])
    inner = response.get("result")
    if isinstance(inner, Mapping) and len(response) == 1:
        return failure(inner)
    if str(response.get("status", "")).lower() in _FAILED:
        return worded({k: v for k, v in response.items() if k != "status"}) or "no reason is given"
    return None


def unwrapped(response: Mapping[str, Any]) -> Any:
    """The value itself: without the envelope ``{"result": …}`` and without a status next to the message."""
    if set(response) == {"result"}:
        inner = response["result"]
        return unwrapped(inner) if isinstance(inner, Mapping) else inner
    rest = {key: value for key, value in response.items() if key != "status"}
    if len(rest) == 1 and (key := next(iter(rest))) in _MESSAGE_KEYS:
        return rest[key]
    return rest or dict(response)


def worded(value: Any) -> str:
    """JSON data in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "nothing"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, Mapping):
        return _listed([f"{str(key).replace('_', ' ')}: {_nested(item)}" for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return _listed([_nested(item) for item in value]) or "nothing"
    return str(value).strip()


def _nested(value: Any) -> str:
    text = worded(value)
    return f"({text})" if isinstance(value, (Mapping, list, tuple)) and len(value) > 1 else text


def _listed(items: list[str]) -> str:
    more = len(items) - _MOST
    return ", ".join(items[:_MOST]) + (f" and {more} more" if more > 0 else "")


def _ended(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
