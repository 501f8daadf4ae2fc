"""Anthropic Messages: how its answers look."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any, ClassVar

from newel_kernel import Json
from newel_testkit.wire.answers import Answer
from newel_testkit.wire.anthropic_reading import reading
from newel_testkit.wire.anthropic_rules import check, is_modern
from newel_testkit.wire.http import Logged
from newel_testkit.wire.reading import Reading

_STOPS = {"end": "end_turn", "max": "max_tokens", "stop": "stop_sequence", "tool": "tool_use", "safety": "refusal"}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_THOUGHTS = ("thinking", "redacted_thinking")
_SAMPLING = frozenset(("temperature", "top_p", "top_k"))
_UNSAYABLE = frozenset(
    (
        "seed",
        "presence_penalty",
        "frequency_penalty",
        "response_logprobs",
        "logprobs",
        "candidate_count",
        "safety",
        "media:audio",
        "media:video",
        "media:model",
        "choice:tools",
        "choice with thinking",
        "temperature above 1",
        "exact budget",
        "bounds of the answer",
        "some stop sequences",
        "temperature with thinking",
        "top_p with thinking",
        "top_k with thinking",
        "max_output_tokens with thinking",
    )
)


def signature(thinking: str) -> str:
    """The signature that the service gives to a thinking text, and checks when the block comes back."""
    return base64.b64encode(b"anthropic-sig:" + hashlib.sha256(thinking.encode()).digest()[:18]).decode()


def redacted(text: str) -> str:
    """The opaque data of a thought."""
    return base64.b64encode(b"anthropic-redacted:" + text.encode()).decode()


class AnthropicWire:
    """The Messages API. It remembers the thoughts that it gave with each call."""

    name: ClassVar[str] = "anthropic"
    base: str = "/anthropic"
    path: ClassVar[str] = "/v1/messages"
    request_id: ClassVar[str] = "request-id"
    end_events: ClassVar[int] = 1
    bad_event: ClassVar[bytes] = b"event: content_block_delta\ndata: {oops}\n\n"

    def __init__(self) -> None:
        self._issued: dict[str, list[Json]] = {}

    def check(self, request: Logged) -> None:
        """See `Wire`."""
        check(request.body, request.headers, self._issued)

    def unsayable(self, model: str) -> frozenset[str]:
        """See `Wire`."""
        return _UNSAYABLE | (_SAMPLING if is_modern(model) else frozenset())

    def beside(self, request: Logged) -> None:
        """See `Wire`."""

    def reading(self, request: Logged) -> Reading:
        """See `Wire`."""
        return reading(request.body)

    def is_streamed(self, request: Logged) -> bool:
        """See `Wire`."""
        return bool(request.body.get("stream"))

    def whole(self, answer: Answer, request: Logged) -> Json:
        """See `Wire`."""
        blocks = [_block(part) for part in answer.parts]
        for block in blocks:
            if block["type"] == "tool_use":
                self._issued[block["id"]] = [one for one in blocks if one["type"] in _THOUGHTS]
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "content": blocks,
            "stop_reason": _STOPS.get(answer.stop, answer.stop),
            "stop_sequence": answer.stop_sequence,
            "usage": _usage(answer),
        }
        if answer.stop == "safety":
            message["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": "declined"}
        return message

    def streamed(self, answer: Answer, request: Logged) -> list[bytes]:
        """See `Wire`."""
        message = self.whole(answer, request)
        details = message.pop("stop_details", None)
        usage = {**message["usage"], "output_tokens": 1}
        start = {**message, "content": [], "stop_reason": None, "usage": usage}
        events = [_event({"type": "message_start", "message": start}), _event({"type": "ping"})]
        for index, block in enumerate(message["content"]):
            events += _block_events(index, block, answer)
        events += [_event(extra) for extra in answer.extra_events]
        counted = {k: v for k, v in message["usage"].items() if k in ("output_tokens", "output_tokens_details")}
        delta = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
        delta |= {"stop_details": details} if details else {}
        events.append(_event({"type": "message_delta", "delta": delta, "usage": counted}))
        return [*events, _event({"type": "message_stop"})]

    def error(self, status: int, message: str) -> Json:
        """See `Wire`."""
        kind = _KINDS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_wire"}

    def error_event(self, status: int, message: str) -> bytes:
        """See `Wire`."""
        return _event(self.error(status, message))

    def text_event(self, words: str) -> bytes:
        """See `Wire`."""
        delta = {"type": "text_delta", "text": words}
        return _event({"type": "content_block_delta", "index": 0, "delta": delta})


def _event(data: Json) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _block(part: Json) -> Json:
    if "thought" in part:
        return {"type": "thinking", "thinking": part["thought"], "signature": signature(part["thought"])}
    if "redacted" in part:
        return {"type": "redacted_thinking", "data": redacted(part["redacted"])}
    if "call" in part:
        call = part["call"]
        return {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
    if "block" in part:
        block: Json = part["block"]
        return block
    cited = {"citations": part["citations"]} if part.get("citations") else {}
    return {"type": "text", "text": part["text"], **cited}


def _block_events(index: int, block: Json, answer: Answer) -> list[bytes]:
    empty, deltas = _started(block, answer)
    events = [_event({"type": "content_block_start", "index": index, "content_block": empty})]
    events += [_event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas]
    return [*events, _event({"type": "content_block_stop", "index": index})]


def _started(block: Json, answer: Answer) -> tuple[Json, list[Json]]:
    """A block as a stream begins it, and its pieces."""
    kind, size = block["type"], answer.piece
    if kind == "text":
        deltas: list[Json] = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"], size)]
        deltas += [{"type": "citations_delta", "citation": one} for one in block.get("citations", ())]
        return {"type": "text", "text": ""}, deltas
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"], size)]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if kind == "tool_use":
        raw = answer.raw_args
        if raw is None:
            raw = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
        pieces = ["", *_pieces(raw, size)]
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block, []


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _usage(answer: Answer) -> Json:
    counts = answer.usage
    cached, stored = counts.get("cached", 0), counts.get("written", 0)
    usage: dict[str, Any] = {
        "input_tokens": counts.get("input", 12) - cached - stored,
        "cache_creation_input_tokens": stored,
        "cache_read_input_tokens": cached,
        "output_tokens": counts.get("output", 5),
        "service_tier": "standard",
    }
    if "reasoning" in counts:
        usage["output_tokens_details"] = {"thinking_tokens": counts["reasoning"]}
    return usage
