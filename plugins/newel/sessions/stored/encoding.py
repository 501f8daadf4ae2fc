"""The stored form of events and state values: JSON that is read back before it is written.

`encode_event` gives both: the text that is kept, and the event as a reader will see it. Values
that JSON has no type for take the form pydantic gives them (a tuple or a set becomes a list, bytes become
base64 text, a date ISO text, a model a dict, a key text); NaN and the infinities are kept. A value that has no
form, or cannot be read back, is refused before anything is written; the error says where it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError, from_json, to_json

from newel.sessions.stored.texts import decode_texts, encode_texts
from newel_kernel import Event, Json, SessionError, freeze_event

# The JSON reader gives up at 200 levels; below this one the depth is not what is wrong with a value.
_DEEP = 150
_EMPTY_ACTIONS = ("stateDelta", "artifactDelta", "requestedAuthConfigs", "requestedToolConfirmations")
_EMPTY_NODE = {"path": ""}
# Below these fields the keys are the user's.
_FREE = (
    ".agent_state",
    ".args",
    ".custom_metadata",
    ".output",
    ".part_metadata",
    ".payload",
    ".response",
    ".route",
    ".state_delta",
)
# The errors of serialising and parsing for a value that they cannot handle; a recursion may end in any of them.
_FAILURES = (PydanticSerializationError, ValueError, TypeError, RecursionError)


class StoredEvent(NamedTuple):
    """An event as a store keeps it: `data` is its JSON, `event` what `data` reads as (frozen)."""

    event: Event
    data: bytes


def encode_event(event: Event) -> StoredEvent:
    """The stored form of `event`, which does not change; raises SessionError if it has none."""
    usual = encode_texts(event)
    return StoredEvent(freeze_event(usual[0]), usual[1]) if usual is not None else encode_any(event)


def encode_any(event: Event) -> StoredEvent:
    """The same for an event of any kind: it is read back before it is written."""
    try:
        data = _dump(event)
        parsed = Event.model_validate_json(data)
        faithful = to_json(from_json(data), inf_nan_mode="constants") == data
    except _FAILURES as error:
        raise _refusal(event, error) from error
    # If not faithful, two keys of one dict are the same text, or a number is only spelt differently.
    if not faithful and _first_problem(_plain(event)) is not None:
        raise _refusal(event, None)
    return StoredEvent(freeze_event(parsed), data)


def decode_event(data: str | bytes) -> Event:
    """The event of a stored form, frozen; raises ValueError if it is damaged."""
    return freeze_event(decode_texts(data) or Event.model_validate_json(data))


def encode_value(value: object, subject: str, path: str) -> bytes:
    """The stored form of one state value."""
    try:
        data = to_json(value, inf_nan_mode="constants", bytes_mode="base64")
        faithful = to_json(from_json(data), inf_nan_mode="constants") == data
        failure: Exception | None = None
    except _FAILURES as error:
        faithful, failure = False, error
    if faithful:
        return data
    problem = _first_problem(value, path)
    if problem is None and failure is None:
        return data
    raise SessionError(_message(subject, problem, failure)) from failure


def decode_value(data: str | bytes) -> Any:
    """The value of a stored form; raises ValueError if it is damaged."""
    return from_json(data)


def _dump(event: Event) -> bytes:
    dumped = _plain(event, by_alias=True)
    actions = dumped.get("actions")
    if actions is not None:
        for name in _EMPTY_ACTIONS:
            if not actions.get(name):
                actions.pop(name, None)
        if not actions:
            del dumped["actions"]
    if dumped.get("nodeInfo") == _EMPTY_NODE:
        del dumped["nodeInfo"]
    return to_json(dumped, inf_nan_mode="constants", bytes_mode="base64")


def _plain(event: Event, *, by_alias: bool = False) -> Json:
    """The event as a dict without its ``temp:`` keys, whose values may be anything."""
    actions = event.touched_actions
    if actions is not None and any(key.startswith("temp:") for key in actions.state_delta):
        delta = {key: value for key, value in actions.state_delta.items() if not key.startswith("temp:")}
        event = event.model_copy(update={"actions": actions.model_copy(update={"state_delta": delta})})
    # Python mode, because JSON mode would turn NaN into null; reading back finds what a warning would say.
    return event.model_dump(mode="python", by_alias=by_alias, exclude_none=True, warnings=False)


def _refusal(event: Event, error: Exception | None) -> SessionError:
    try:
        problem = _first_problem(_plain(event))
    except _FAILURES:
        problem = None
    return SessionError(_message(f"event {event.id} of {event.author!r}", problem, error))


def _message(subject: str, problem: tuple[str, str] | None, error: Exception | None) -> str:
    where, why = problem if problem is not None else ("it", f"cannot be written as JSON and read back ({error})")
    return f"{subject} cannot be stored: {where} {why}; nothing was written"


def _first_problem(value: object, path: str = "", depth: int = 0) -> tuple[str, str] | None:
    """The path of the first value that cannot be stored and what is wrong with it, or None."""
    if depth > _DEEP:
        return f"{path[:200]}…", "is nested too deeply, or contains itself"
    if isinstance(value, Mapping):
        clash = _key_problem(value, path)
        if clash is not None:
            return clash
    for child_path, child in _children(value, path):
        problem = _first_problem(child, child_path, depth + 1)
        if problem is not None:
            return problem
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        return None
    return _leaf_problem(value, path)


def _children(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            free = "['" in path or f".{path}".endswith(_FREE) or not isinstance(key, str)
            yield (f"{path}[{key!r}]" if free else f"{path}.{key}".lstrip(".")), child
    elif isinstance(value, (list, tuple, set, frozenset)):
        for index, child in enumerate(value):
            yield f"{path}[{index}]", child


def _key_problem(value: Mapping[object, object], path: str) -> tuple[str, str] | None:
    by_text: dict[str, object] = {}
    for key in value:
        try:
            text = str(next(iter(from_json(to_json({key: None})))))
        except _FAILURES as error:
            return f"{path}[{key!r}]", f"has a key that cannot be written as JSON text ({error})"
        if text in by_text:
            return path, f"has the keys {by_text[text]!r} and {key!r}, which are the same key in JSON"
        by_text[text] = key
    return None


def _leaf_problem(value: object, path: str) -> tuple[str, str] | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    try:
        from_json(to_json(value, bytes_mode="base64"))
    except _FAILURES as error:
        return path, f"is {_kind(value)}, which cannot be written as JSON and read back ({error})"
    return None


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "text with a lone surrogate"
    return "an integer of too many digits" if isinstance(value, int) else f"of type {type(value).__qualname__}"
