"""Messages of the OpenAI Realtime API, for scripts. Ids of events and responses are filled in when they are sent."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

from newel_kernel import Json
from newel_testkit.live.steps import Close, Step

_TRANSCRIPTION = "conversation.item.input_audio_transcription."
#: Input and output tokens.
Usage = tuple[int, int]
USAGE: Usage = (10, 5)


def say(*deltas: str, item: str = "item_a", usage: Usage = USAGE, status: str = "completed") -> list[Json]:
    """A whole response of text, in pieces."""
    whole = "".join(deltas)
    part = {"type": "output_text", "text": whole}
    body = [{"type": "response.output_text.delta", "delta": delta} for delta in deltas]
    body.append({"type": "response.output_text.done", "text": whole})
    return _message(item, part, body, usage, status)


def speak(
    *chunks: bytes, transcript: str = "", item: str = "item_a", usage: Usage = USAGE, status: str = "completed"
) -> list[Json]:
    """A whole response of sound, then what it says."""
    body: list[Json] = [audio(chunk) for chunk in chunks]
    words = re.findall(r"\s*\S+(?:\s+$)?", transcript)
    body += [{"type": "response.output_audio_transcript.delta", "delta": word} for word in words]
    body += [
        {"type": "response.output_audio.done"},
        {"type": "response.output_audio_transcript.done", "transcript": transcript},
    ]
    return _message(item, {"type": "output_audio", "transcript": transcript}, body, usage, status)


def audio(data: bytes) -> Json:
    """A chunk of what the model says; within a response."""
    return {"type": "response.output_audio.delta", "delta": base64.b64encode(data).decode()}


def call(
    name: str, arguments: str, call_id: str, *, item: str = "item_c", pieces: int = 2, usage: Usage = USAGE
) -> list[Json]:
    """A whole response of one function call, its arguments in pieces."""
    return calls((name, arguments, call_id), item=item, pieces=pieces, usage=usage)


def calls(*specs: tuple[str, str, str], item: str = "item_c", pieces: int = 2, usage: Usage = USAGE) -> list[Json]:
    """A whole response of function calls, each a name, arguments and an id."""
    out: list[Json] = [_created()]
    items: list[Json] = []
    for index, (name, arguments, call_id) in enumerate(specs):
        id_ = f"{item}_{index}"
        whole = {"type": "function_call", "name": name, "call_id": call_id, "arguments": arguments}
        place = {"item_id": id_, "output_index": index}
        out += _added({**whole, "arguments": ""}, id_, index)
        step = max(1, -(-len(arguments) // pieces))
        for start in range(0, len(arguments), step):
            delta = arguments[start : start + step]
            out.append({"type": "response.function_call_arguments.delta", "call_id": call_id, "delta": delta, **place})
        done = {"call_id": call_id, "name": name, "arguments": arguments}
        out.append({"type": "response.function_call_arguments.done", **done, **place})
        items.append(_item(whole, id_, "completed"))
        out += _ended(items[-1], index)
    return [*out, _done(items, usage, "completed")]


def cancelled(item: str = "item_a", reason: str = "turn_detected") -> Json:
    """The end of a response that the user interrupted; `reason` is client_cancelled if the client asked for it."""
    details = {"type": "cancelled", "reason": reason}
    return {**_done([], USAGE, "cancelled"), "response": _outcome([], USAGE, "cancelled", details)}


def speech_started(item: str = "item_u", ms: int = 0) -> Json:
    """The user begins to speak."""
    return {"type": "input_audio_buffer.speech_started", "audio_start_ms": ms, "item_id": item}


def speech_stopped(item: str = "item_u", ms: int = 500) -> Json:
    """The user has stopped."""
    return {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": ms, "item_id": item}


def input_text(*deltas: str, item: str = "item_u") -> list[Json]:
    """What the user was understood to say: pieces, then the whole."""
    place = {"item_id": item, "content_index": 0}
    used = {"type": "duration", "seconds": 1.0}
    return [
        *({"type": f"{_TRANSCRIPTION}delta", "delta": delta, **place} for delta in deltas),
        {"type": f"{_TRANSCRIPTION}completed", "transcript": "".join(deltas), "usage": used, **place},
    ]


def error(message: str, code: str = "server_error") -> Json:
    """An error of the service's own."""
    details = {"type": "server_error", "code": code, "message": message, "param": None, "event_id": None}
    return {"type": "error", "error": details}


def expired() -> list[Json | Step]:
    """What the service does with a session after an hour."""
    words = "Your session hit the maximum duration of 60 minutes."
    return [error(words, "session_expired"), Close(1001, "session expired")]


def _message(item: str, part: Json, body: Sequence[Json], usage: Usage, status: str) -> list[Json]:
    whole = {"type": "message", "role": "assistant", "content": [part]}
    place = {"item_id": item, "output_index": 0, "content_index": 0}
    begun = {"type": part["type"], **({"text": ""} if "text" in part else {"transcript": ""})}
    ended = _item(whole, item, "completed" if status == "completed" else "incomplete")
    return [
        _created(),
        *_added({**whole, "content": []}, item, 0),
        {"type": "response.content_part.added", **place, "part": begun},
        *({**one, **place} for one in body),
        {"type": "response.content_part.done", **place, "part": part},
        *_ended(ended, 0),
        _done([ended], usage, status),
    ]


def _created() -> Json:
    return {"type": "response.created", "response": {"status": "in_progress", "output": []}}


def _added(whole: Json, item: str, index: int) -> list[Json]:
    begun = _item(whole, item, "in_progress")
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        {"type": "conversation.item.added", "previous_item_id": None, "item": begun},
    ]


def _ended(item: Json, index: int) -> list[Json]:
    return [
        {"type": "response.output_item.done", "output_index": index, "item": item},
        {"type": "conversation.item.done", "previous_item_id": None, "item": item},
    ]


def _done(items: list[Json], usage: Usage, status: str) -> Json:
    return {"type": "response.done", "response": _outcome(items, usage, status, None)}


def _outcome(items: list[Json], usage: Usage, status: str, details: Json | None) -> Json:
    input_tokens, output_tokens = usage
    return {
        "status": status,
        "status_details": details,
        "output": items,
        "usage": {
            "total_tokens": input_tokens + output_tokens,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "input_token_details": {"cached_tokens": 0, "text_tokens": input_tokens, "audio_tokens": 0},
            "output_token_details": {"text_tokens": output_tokens, "audio_tokens": 0},
        },
    }


def _item(whole: Json, item: str, status: str) -> dict[str, Any]:
    return {**whole, "id": item, "object": "realtime.item", "status": status}
