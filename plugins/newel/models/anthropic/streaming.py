"""Streaming: turns the events of a streamed answer into partial responses, and feeds them to its reading."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from newel.models.anthropic.output import Output
from newel.models.anthropic.reading import Reading
from newel.models.wire.service import Service
from newel_kernel import Json, LlmResponse
from newel_types import Content, Part

#: Errors in an event after which the same request may succeed.
_PASSING = frozenset(("overloaded_error", "api_error", "rate_limit_error", "timeout_error"))
#: By a delta's type: the key of its text, in the delta and in the block.
_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


@dataclass(slots=True)
class _Block:
    """A block whose pieces are still arriving."""

    start: Json
    pieces: dict[str, list[str]] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)

    def add(self, key: str, text: str) -> None:
        self.pieces.setdefault(key, []).append(text)

    def whole(self) -> Json:
        joined = {key: (self.start.get(key) or "") + "".join(texts) for key, texts in self.pieces.items()}
        return {**self.start, **joined}


class Assembly:
    """Puts a streamed message together. Unknown events, blocks and deltas are ignored."""

    def __init__(self, reading: Reading, service: Service, output: Output) -> None:
        self._reading, self._service, self._output = reading, service, output
        #: Otherwise text is wrapped, or comes as the arguments of a call, and is shown once it is whole.
        self._shows_text = not output.wrapped and output.tool is None
        self._blocks: dict[object, _Block] = {}
        self.is_done = False

    def take(self, event: Any) -> LlmResponse | None:
        """Take one event; return its text as a partial response, if it has any."""
        if not isinstance(event, dict):
            raise self._service.malformed("an event is not a JSON object")
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._delta(event)
        if kind == "content_block_start":
            return self._start(event)
        if kind == "content_block_stop":
            return self._stop(event.get("index"))
        if kind == "message_start":
            self._reading.begin(self._object(event, "message"))
        elif kind == "message_delta":
            self._reading.end(self._object(event, "delta"), event.get("usage"))
        elif kind == "message_stop":
            for index in list(self._blocks):
                self._stop(index)
            self.is_done = True
        elif kind == "error":
            raise self._error(event)
        return None

    def _start(self, event: Json) -> LlmResponse | None:
        start = self._object(event, "content_block")
        self._blocks[event.get("index")] = _Block(start)
        text = start.get("text")
        return self._shown(text) if start.get("type") == "text" and isinstance(text, str) else None

    def _delta(self, event: Json) -> LlmResponse | None:
        delta, block = self._object(event, "delta"), self._blocks.get(event.get("index"))
        if block is None:
            raise self._service.malformed("a piece of a block came before the block")
        kind = delta.get("type")
        if kind == "input_json_delta":
            block.arguments.append(str(delta.get("partial_json") or ""))
        elif kind == "citations_delta":
            block.start = {**block.start, "citations": [*(block.start.get("citations") or ()), delta.get("citation")]}
        elif (key := _TEXTS.get(str(kind))) is not None and isinstance(text := delta.get(key), str):
            block.add(key, text)
            if key != "signature":
                return self._shown(text, thought=key == "thinking")
        return None

    def _stop(self, index: object) -> LlmResponse | None:
        block = self._blocks.pop(index, None)
        if block is None:
            return None
        whole, arguments = block.whole(), "".join(block.arguments)
        if arguments and whole.get("type") != "tool_use":  # of a tool that the service runs: goes back unchanged
            try:
                whole["input"] = json.loads(arguments)
            except ValueError as error:
                raise self._service.malformed("the input of a server's tool is not JSON") from error
        before = len(self._reading.answer.parts)
        self._reading.block(whole, arguments or None)
        if whole.get("type") == "text" and (self._shows_text or self._output.tool is not None):
            return None
        texts = [part.text for part in self._reading.answer.parts[before:] if part.text and not part.thought]
        return _partial("".join(texts), thought=None) if texts else None

    def _shown(self, text: str, *, thought: bool = False) -> LlmResponse | None:
        if not text or not (thought or self._shows_text):
            return None
        return _partial(text, thought=thought or None)

    def _object(self, event: Json, key: str) -> Json:
        value = event.get(key)
        if not isinstance(value, dict):
            raise self._service.malformed(f"the event {event.get('type')} has no {key}")
        return value

    def _error(self, event: Json) -> Exception:
        error = event.get("error")
        error = error if isinstance(error, dict) else {}
        code, request = str(error.get("type") or "error"), event.get("request_id")
        return self._service.failed(
            code,
            str(error.get("message") or ""),
            retryable=code in _PASSING,
            request_id=request if isinstance(request, str) else None,
        )


def _partial(text: str, *, thought: bool | None) -> LlmResponse:
    return LlmResponse(Content([Part(text, None, None, thought)], "model"), True)
