"""Rules: what the OpenAI Realtime API refuses of a client's events."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping

from newel_kernel import Json
from newel_testkit.live.server import RefusedError

#: By type of event: the fields that it must have, and those that it may have.
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "session.update": ({"session"}, set()),
    "input_audio_buffer.append": ({"audio"}, set()),
    "input_audio_buffer.commit": (set(), set()),
    "input_audio_buffer.clear": (set(), set()),
    "output_audio_buffer.clear": (set(), set()),
    "conversation.item.create": ({"item"}, {"previous_item_id"}),
    "conversation.item.retrieve": ({"item_id"}, set()),
    "conversation.item.delete": ({"item_id"}, set()),
    "conversation.item.truncate": ({"item_id", "content_index", "audio_end_ms"}, set()),
    "response.create": (set(), {"response"}),
    "response.cancel": (set(), {"response_id"}),
}
_COMMON = {"type", "event_id"}
_SESSION = {
    "type",
    "model",
    "instructions",
    "output_modalities",
    "audio",
    "tools",
    "tool_choice",
    "max_output_tokens",
    "include",
    "tracing",
    "truncation",
    "prompt",
    "parallel_tool_calls",
    "reasoning",
}
_RESPONSE = {
    "conversation",
    "instructions",
    "output_modalities",
    "audio",
    "tools",
    "tool_choice",
    "max_output_tokens",
    "input",
    "metadata",
    "prompt",
    "parallel_tool_calls",
    "reasoning",
}
_INPUT = {"format", "noise_reduction", "transcription", "turn_detection"}
_OUTPUT = {"format", "speed", "voice"}
_ITEMS = {
    "message": {"role", "content"},
    "function_call": {"name", "call_id", "arguments"},
    "function_call_output": {"call_id", "output"},
}
#: The parts of a message by its role.
_PARTS = {
    "system": {"input_text"},
    "user": {"input_text", "input_audio", "input_image"},
    "assistant": {"output_text", "output_audio"},
}
_MOST_AUDIO = 15 * 1024 * 1024


def check(state: Json, event: Json) -> None:
    """Raise a RefusedError for a bad event; `state` is the conversation so far."""
    kind = event.get("type")
    if kind not in _FIELDS:
        raise bad(f"Invalid value: {kind!r}. Supported values are: {', '.join(sorted(_FIELDS))}.", event, param="type")
    required, allowed = _FIELDS[kind]
    for name in required - event.keys():
        raise bad(f"Missing required parameter: '{name}'.", event, "missing_required_parameter", name)
    _check_keys(event, event, required | allowed | _COMMON, "")
    if (more := _CHECKS.get(kind)) is not None:
        more(state, event)


def bad(message: str, event: Json, code: str = "invalid_value", param: str | None = None) -> RefusedError:
    """The refusal of an event, which is answered with an error event."""
    details = {"type": "invalid_request_error", "code": code, "message": message, "param": param}
    answer = {"type": "error", "error": {**details, "event_id": event.get("event_id")}}
    return RefusedError(message, 0, answer)


def _check_keys(value: Mapping[str, object], event: Json, allowed: set[str], place: str) -> None:
    for name in value.keys() - allowed:
        where = f"{place}{name}"
        raise bad(f"Unknown parameter: '{where}'.", event, "unknown_parameter", where)


def _session(state: Json, event: Json) -> None:
    session = event["session"]
    if session.get("type") != "realtime":
        words = "Missing required parameter: 'session.type'."
        raise bad(words, event, "missing_required_parameter", "session.type")
    _check_keys(session, event, _SESSION, "session.")
    modalities = session.get("output_modalities")
    if modalities not in (None, ["text"], ["audio"]):
        words = f"Invalid modalities: {modalities}. Supported combinations are: ['text'] and ['audio']."
        raise bad(words, event, param="session.output_modalities")
    for number, tool in enumerate(session.get("tools") or []):
        if tool.get("type") not in ("function", "mcp") or (tool["type"] == "function" and not tool.get("name")):
            raise bad(f"Invalid tool at session.tools[{number}]", event, param=f"session.tools[{number}]")
    _audio(session.get("audio") or {}, event)
    state.setdefault("session", {}).update(session)


def _audio(audio: Json, event: Json) -> None:
    _check_keys(audio, event, {"input", "output"}, "session.audio.")
    _check_keys(audio.get("input") or {}, event, _INPUT, "session.audio.input.")
    _check_keys(audio.get("output") or {}, event, _OUTPUT, "session.audio.output.")
    for way in ("input", "output"):
        form, place = (audio.get(way) or {}).get("format") or {}, f"session.audio.{way}.format"
        if form and form.get("type") not in ("audio/pcm", "audio/pcmu", "audio/pcma"):
            raise bad(f"Invalid value: {form.get('type')!r}", event, param=f"{place}.type")
        if form.get("type") == "audio/pcm" and form.get("rate") not in (None, 24_000):
            raise bad(f"Invalid '{place}.rate': only 24000 is supported", event, param=f"{place}.rate")


def _append(state: Json, event: Json) -> None:
    try:
        data = base64.b64decode(event["audio"], validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise bad("Invalid 'audio'. Expected base64-encoded audio bytes.", event, param="audio") from None
    if len(event["audio"]) > _MOST_AUDIO:
        raise bad("'audio' is larger than 15 MiB", event, "string_above_max_length", "audio")
    if len(data) % 2:
        raise bad("'audio' holds half a sample", event, param="audio")
    state["buffered"] += len(data)


def _commit(state: Json, event: Json) -> None:
    ms = state["buffered"] / 48
    if ms < 100:
        words = "Error committing input audio buffer: buffer too small. Expected at least 100ms of audio, but buffer"
        raise bad(f"{words} only has {ms:.2f}ms of audio.", event, "input_audio_buffer_commit_empty")
    state["buffered"] = 0


def _clear(state: Json, event: Json) -> None:
    state["buffered"] = 0


def _create(state: Json, event: Json) -> None:
    item = event["item"]
    kind = item.get("type")
    if kind not in _ITEMS:
        raise bad(f"Invalid value: {kind!r}", event, param="item.type")
    for name in _ITEMS[kind] - item.keys():
        where = f"item.{name}"
        raise bad(f"Missing required parameter: '{where}'.", event, "missing_required_parameter", where)
    _check_keys(item, event, _ITEMS[kind] | {"type", "id", "object", "status"}, "item.")
    if kind == "message":
        _message(item, event)
    elif kind == "function_call":
        state["calls"].append(item["call_id"])
    elif item["call_id"] not in state["calls"]:
        words = f"Tool call ID '{item['call_id']}' not found in conversation."
        raise bad(words, event, "invalid_tool_call_id", "item.call_id")
    elif not isinstance(item["output"], str):
        raise bad("Invalid type for 'item.output': expected a string", event, "invalid_type", "item.output")


def _message(item: Json, event: Json) -> None:
    allowed = _PARTS.get(item["role"], set())
    for number, part in enumerate(item["content"]):
        if part.get("type") not in allowed:
            words = f"Supported values for role {item['role']!r} are: {sorted(allowed)}"
            raise bad(f"Invalid value: {part.get('type')!r}. {words}", event, param=f"item.content[{number}].type")


def _respond(state: Json, event: Json) -> None:
    _check_keys(event.get("response") or {}, event, _RESPONSE, "response.")
    if state["active"]:
        words = f"Conversation already has an active response in progress: {state['active']}. Wait until the response"
        code = "conversation_already_has_active_response"
        raise bad(f"{words} is finished before creating a new one.", event, code)


def _cancel(state: Json, event: Json) -> None:
    if not state["active"]:
        raise bad("Cancellation failed: no active response found", event, "response_cancel_not_active")


def _item(state: Json, event: Json) -> None:
    if event["item_id"] not in state["items"]:
        raise bad(f"Item with item_id not found: {event['item_id']}", event, "item_not_found", "item_id")


_CHECKS: dict[str, Callable[[Json, Json], None]] = {
    "session.update": _session,
    "input_audio_buffer.append": _append,
    "input_audio_buffer.commit": _commit,
    "input_audio_buffer.clear": _clear,
    "conversation.item.create": _create,
    "conversation.item.retrieve": _item,
    "conversation.item.delete": _item,
    "conversation.item.truncate": _item,
    "response.create": _respond,
    "response.cancel": _cancel,
}
