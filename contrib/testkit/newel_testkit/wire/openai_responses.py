"""OpenAI Responses: how its answers look."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar

from newel_kernel import Json
from newel_testkit.wire.answers import Answer
from newel_testkit.wire.http import Logged
from newel_testkit.wire.openai_items import Memory, check
from newel_testkit.wire.openai_reading import responses_reading
from newel_testkit.wire.openai_rules import UNSAYABLE, UNSAYABLE_WHERE_IT_REASONS, reasons
from newel_testkit.wire.reading import Reading

_UNSAYABLE = frozenset(
    ("stop_sequences", "seed", "presence_penalty", "frequency_penalty", "candidate_count", "media:audio")
)
_ENDS = {"max": "max_output_tokens", "safety": "content_filter"}


def encrypted(thought: str) -> str:
    """What the service gives for a thought, and verifies when it comes back."""
    return base64.b64encode(b"openai-encrypted:" + hashlib.sha256(thought.encode()).digest()[:18]).decode()


class ResponsesWire:
    """The Responses API. Of an answer, `more` may hold ``refusal``, ``item`` parts and ``no_output``."""

    name: ClassVar[str] = "openai-responses"
    base: str = "/openai/v1"
    path: ClassVar[str] = "/responses"
    request_id: ClassVar[str] = "x-request-id"
    end_events: ClassVar[int] = 1
    bad_event: ClassVar[bytes] = b"event: response.output_text.delta\ndata: {oops}\n\n"

    def __init__(self) -> None:
        self.memory = Memory()
        self._count = 0

    def check(self, request: Logged) -> None:
        """See `Wire`."""
        check(request, self.memory)

    def unsayable(self, model: str) -> frozenset[str]:
        """See `Wire`."""
        return UNSAYABLE | _UNSAYABLE | (UNSAYABLE_WHERE_IT_REASONS if reasons(model) else frozenset())

    def beside(self, request: Logged) -> None:
        """See `Wire`."""

    def reading(self, request: Logged) -> Reading:
        """See `Wire`."""
        return responses_reading(request.body)

    def is_streamed(self, request: Logged) -> bool:
        """See `Wire`."""
        return bool(request.body.get("stream"))

    def whole(self, answer: Answer, request: Logged) -> Json:
        """See `Wire`."""
        self._count += 1
        body, number = request.body, self._count
        output = [self._item(part, f"{number}_{index}", answer, body) for index, part in enumerate(answer.parts)]
        response: Json = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "model": body["model"],
            "output": output,
            "usage": _usage(answer),
            "store": body.get("store", True),
            "previous_response_id": body.get("previous_response_id"),
        }
        if answer.stop in _ENDS:
            response |= {"status": "incomplete", "incomplete_details": {"reason": _ENDS[answer.stop]}}
        elif answer.stop == "failed":
            response |= {"status": "failed", "error": {"code": "server_error", "message": "The model failed."}}
        self._remember(response)
        return response

    def streamed(self, answer: Answer, request: Logged) -> list[bytes]:
        """See `Wire`."""
        response = self.whole(answer, request)
        started = {**response, "status": "in_progress", "output": [], "usage": None, "error": None}
        events = [_event("response.created", response=started)]
        streams = [list(_item_events(item, index, answer)) for index, item in enumerate(response["output"])]
        if answer.more.get("interleaved"):
            longest = max(map(len, streams), default=0)
            events += [stream[at] for at in range(longest) for stream in streams if at < len(stream)]
        else:
            events += [event for stream in streams for event in stream]
        events += [_event(extra["type"], **extra) for extra in answer.extra_events]
        last = {**response, "output": []} if answer.more.get("no_output") else response
        return [*events, _event(f"response.{response['status']}", response=last)]

    def error(self, status: int, message: str) -> Json:
        """See `Wire`."""
        kind = "rate_limit_exceeded" if status == 429 else "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def error_event(self, status: int, message: str) -> bytes:
        """See `Wire`."""
        return _event("error", code="server_error", message=message, param=None)

    def text_event(self, words: str) -> bytes:
        """See `Wire`."""
        return _event("response.output_text.delta", output_index=0, content_index=0, item_id="m", delta=words)

    def _remember(self, response: Json) -> None:
        """Keep what a later request may name, as far as it is stored, and the thought before each call."""
        output = response["output"]
        if response["store"]:
            self.memory.stored[response["id"]] = {o["call_id"] for o in output if o["type"] == "function_call"}
        for before, item in pairwise(output):
            if before["type"] == "reasoning" and item["type"] == "function_call":
                self.memory.thoughts[item["id"]] = before["id"]

    def _item(self, part: Json, number: str, answer: Answer, body: Json) -> Json:
        if "thought" in part:
            summaries = part["thought"] if isinstance(part["thought"], list) else [part["thought"]]
            listed = [{"type": "summary_text", "text": text} for text in summaries if text]
            item: Json = {"id": f"rs_{number}", "type": "reasoning", "summary": listed}
            if "reasoning.encrypted_content" in (body.get("include") or ()):
                item["encrypted_content"] = encrypted("".join(summaries))
            return item
        if "call" in part:
            one = part["call"]
            raw = answer.raw_args or json.dumps(one["args"], ensure_ascii=False)
            return {
                "id": f"fc_{number}",
                "type": "function_call",
                "call_id": one["id"],
                "name": one["name"],
                "arguments": raw,
                "status": "completed",
            }
        if "item" in part:
            return dict(part["item"])
        content: Json = {"type": "output_text", "annotations": [], "logprobs": [], **part}
        if refusal := answer.more.get("refusal"):
            content = {"type": "refusal", "refusal": refusal}
        return {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": [content]}


def _event(kind: str, **data: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data}, ensure_ascii=False)}\n\n".encode()


def _item_events(item: Json, index: int, answer: Answer) -> Iterator[bytes]:
    where = {"output_index": index, "item_id": item.get("id")}
    empty: Json = {"message": {"content": []}, "function_call": {"arguments": ""}, "reasoning": {"summary": []}}
    yield _event("response.output_item.added", output_index=index, item={**item, **empty.get(item["type"], {})})
    if item["type"] == "message":
        part = item["content"][0]
        if "text" in part:
            for piece in _pieces(part["text"], answer.piece):
                yield _event("response.output_text.delta", **where, content_index=0, delta=piece)
            yield _event("response.output_text.done", **where, content_index=0, text=part["text"])
        else:
            yield _event("response.refusal.delta", **where, content_index=0, delta=part["refusal"])
    elif item["type"] == "function_call":
        for piece in _pieces(item["arguments"], answer.piece):
            yield _event("response.function_call_arguments.delta", **where, delta=piece)
        yield _event("response.function_call_arguments.done", **where, arguments=item["arguments"])
    elif item["type"] == "reasoning":
        for number, summary in enumerate(item["summary"]):
            yield _event("response.reasoning_summary_part.added", **where, summary_index=number)
            for piece in _pieces(summary["text"], answer.piece):
                yield _event("response.reasoning_summary_text.delta", **where, summary_index=number, delta=piece)
    if not answer.more.get("no_done"):
        yield _event("response.output_item.done", output_index=index, item=item)


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _usage(answer: Answer) -> Json | None:
    if not answer.usage:
        return None
    prompt, used = answer.usage.get("input", 0), answer.usage.get("output", 0)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": answer.usage.get("cached", 0)},
        "output_tokens": used,
        "output_tokens_details": {"reasoning_tokens": answer.usage.get("reasoning", 0)},
        "total_tokens": prompt + used,
    }
