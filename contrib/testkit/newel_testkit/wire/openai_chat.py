"""OpenAI Chat Completions: how its answers look; and those of servers that speak the protocol."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from newel_kernel import Json
from newel_testkit.wire.answers import Answer
from newel_testkit.wire.http import Logged
from newel_testkit.wire.openai_messages import check
from newel_testkit.wire.openai_reading import chat_reading
from newel_testkit.wire.openai_rules import UNSAYABLE, UNSAYABLE_WHERE_IT_REASONS, reasons
from newel_testkit.wire.reading import Reading

_STOPS = {"end": "stop", "max": "length", "stop": "stop", "tool": "tool_calls", "safety": "content_filter"}


class ChatWire:
    """Chat Completions. Of an answer, `more` may hold ``refusal``, ``reasoning_key``, ``no_choices`` and ``delta``."""

    name: ClassVar[str] = "openai"
    base: str = "/openai/v1"
    path: ClassVar[str] = "/chat/completions"
    request_id: ClassVar[str] = "x-request-id"
    end_events: ClassVar[int] = 3
    bad_event: ClassVar[bytes] = b"data: {oops}\n\n"
    further: ClassVar[bool] = False

    def check(self, request: Logged) -> None:
        """See `Wire`."""
        check(request, further=self.further)

    def unsayable(self, model: str) -> frozenset[str]:
        """See `Wire`."""
        result = UNSAYABLE | {"media in results", "media:uri:application/pdf"}
        return (result | UNSAYABLE_WHERE_IT_REASONS if reasons(model) else result) - (
            {"top_k"} if self.further else set()
        )

    def beside(self, request: Logged) -> None:
        """See `Wire`."""

    def reading(self, request: Logged) -> Reading:
        """See `Wire`."""
        return chat_reading(request.body)

    def is_streamed(self, request: Logged) -> bool:
        """See `Wire`."""
        return bool(request.body.get("stream"))

    def whole(self, answer: Answer, request: Logged) -> Json:
        """See `Wire`."""
        message: Json = {"role": "assistant", "content": _joined(answer, "text") or None, "refusal": None}
        if refusal := answer.more.get("refusal"):
            message |= {"content": None, "refusal": refusal}
        if thoughts := _joined(answer, "thought"):
            message[answer.more.get("reasoning_key", "reasoning_content")] = thoughts
        if calls := _calls(answer):
            message["tool_calls"] = [
                {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": raw}}
                for one, raw in calls
            ]
        message |= answer.more.get("message", {})
        logprobs = answer.more.get("logprobs")
        choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": _stop(answer)}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": request.body["model"],
            "choices": [] if answer.more.get("no_choices") else [choice],
            "usage": _usage(answer),
        }

    def streamed(self, answer: Answer, request: Logged) -> list[bytes]:
        """See `Wire`."""
        base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": request.body["model"]}

        def chunk(delta: Json, finish: str | None = None, logprobs: object = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
            return _event({**base, "choices": [choice]})

        deltas = [] if answer.more.get("no_choices") else list(_deltas(answer))
        events = [chunk(delta) for delta in deltas]
        events += [_event(extra) for extra in answer.extra_events]
        if not answer.more.get("no_choices"):
            events.append(chunk({}, _stop(answer), answer.more.get("logprobs")))
        if (request.body.get("stream_options") or {}).get("include_usage"):
            events.append(_event({**base, "choices": [], "usage": _usage(answer)}))
        return [*events, b"data: [DONE]\n\n"]

    def error(self, status: int, message: str) -> Json:
        """See `Wire`."""
        kind = "rate_limit_exceeded" if status == 429 else "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def error_event(self, status: int, message: str) -> bytes:
        """See `Wire`."""
        return _event(self.error(status, message))

    def text_event(self, words: str) -> bytes:
        """See `Wire`."""
        return _event({"choices": [{"index": 0, "delta": {"content": words}, "finish_reason": None}]})


class CompatibleWire(ChatWire):
    """A server that speaks the protocol: vLLM, Ollama, OpenRouter. It accepts some further parameters."""

    name: ClassVar[str] = "compatible"
    base: str = "/compatible/v1"
    further: ClassVar[bool] = True


def _event(value: Json) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _stop(answer: Answer) -> str:
    return _STOPS.get(answer.stop, answer.stop)


def _joined(answer: Answer, kind: str) -> str:
    return "".join(part[kind] for part in answer.parts if kind in part)


def _calls(answer: Answer) -> list[tuple[Json, str]]:
    calls = [part["call"] for part in answer.parts if "call" in part]
    return [(one, answer.raw_args or json.dumps(one["args"], ensure_ascii=False)) for one in calls]


def _deltas(answer: Answer) -> list[Json]:
    """The deltas; `more["calls"]` says how calls come: whole, under one index, or all in one chunk."""
    how: Any = answer.more.get("calls", ())
    size = answer.piece
    before: list[Json] = [{"role": "assistant", "content": "", "refusal": None}]
    for part in () if answer.more.get("refusal") else answer.parts:
        for kind, field in (("text", "content"), ("thought", answer.more.get("reasoning_key", "reasoning_content"))):
            text = part.get(kind, "")
            before += [{field: text[start : start + size]} for start in range(0, len(text), size)]
    if refusal := answer.more.get("refusal"):
        before.append({"refusal": refusal})
    streams: list[list[Json]] = []
    for index, (one, raw) in enumerate(_calls(answer)):
        place = {} if "no_index" in how else {"index": 0 if "same_index" in how else index}
        first = {"name": one["name"], "arguments": raw if "whole" in how else ""}
        pieces = [] if "whole" in how else [raw[start : start + size] for start in range(0, len(raw), size)]
        deltas: list[Json] = [{**place, "id": one["id"], "type": "function", "function": first}]
        streams.append(deltas + [{**place, "function": {"arguments": piece}} for piece in pieces])
    order = [delta for stream in streams for delta in stream]
    if "interleaved" in how:
        longest = max(map(len, streams), default=0)
        order = [stream[at] for at in range(longest) for stream in streams if at < len(stream)]
    chunks = [order] if "one_chunk" in how and order else [[delta] for delta in order]
    return before + [{"tool_calls": deltas} for deltas in chunks]


def _usage(answer: Answer) -> Json | None:
    if not answer.usage:
        return None
    prompt, used = answer.usage.get("input", 0), answer.usage.get("output", 0)
    usage: Json = {"prompt_tokens": prompt, "completion_tokens": used, "total_tokens": prompt + used}
    if "cached" in answer.usage:
        usage["prompt_tokens_details"] = {"cached_tokens": answer.usage["cached"]}
    if "reasoning" in answer.usage:
        usage["completion_tokens_details"] = {"reasoning_tokens": answer.usage["reasoning"]}
    return usage
