"""StreamingResponseAggregator: the chunks of a streamed answer, as they come and as the one answer they make up."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from newel.contexts.call_ids import new_call_id
from newel.models.google.partial_arguments import merge_pieces
from newel.models.google.plain_chunks import usage_of
from newel_kernel import LlmResponse
from newel_types import Content, FinishReason, FunctionCall, GenerateContentResponse, Part, deep_copy

#: Facts about the whole answer; of each, the last one that a chunk brings counts.
_FACTS = (
    "model_version",
    "usage_metadata",
    "grounding_metadata",
    "citation_metadata",
    "finish_reason",
    "avg_logprobs",
    "logprobs_result",
)


class StreamingResponseAggregator:
    """Passes each chunk on as a partial response and puts the whole answer together.

    Specified in docs/reference/behaviour.md#streamed-responses. Text of one kind (thought or not) becomes one part, up
    to a signature: a signed part stays as it came, because the service checks signatures against their parts. A tool
    call whose arguments come in pieces becomes one call. A call that was still open when the answer was cut off is left
    out: half of its arguments are not what the model meant.
    """

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._text: list[str] = []
        self._text_is_thought = False
        self._call: FunctionCall | None = None
        self._call_signature: bytes | None = None
        self._facts: dict[str, Any] = {}
        self._error: tuple[str | None, str | None] | None = None
        self._chunks = 0
        self._answered = False
        self._had_empty_text = False

    async def process_response(self, response: object) -> AsyncGenerator[LlmResponse, None]:
        """Take one chunk (a GenerateContentResponse, ours or google-genai's) and yield it as a partial response."""
        yield self.add(response)

    def add_plain(self, part: Any, chunk: Any) -> LlmResponse:
        """Take a chunk whose one part `plain_text` has found, and return it as a partial response."""
        text, thought, version = part.text, part.thought or None, chunk.model_version
        usage, facts = usage_of(chunk.usage_metadata), self._facts
        self._chunks += 1
        self._answered = True
        if version is not None:
            facts["model_version"] = version
        if usage is not None:
            facts["usage_metadata"] = usage
        self._take_text(text, bool(thought))
        response = LlmResponse(Content([Part(text, None, None, thought)], "model"), True, version)
        response.usage_metadata = usage  # already of our type, so that the constructor need not convert it
        return response

    def add(self, response: object) -> LlmResponse:
        """Take one chunk and return it as a partial response."""
        answer = GenerateContentResponse.model_validate(response)
        self._chunks += 1
        partial = LlmResponse.create(answer)
        partial.partial = True
        if answer.candidates or answer.prompt_feedback:
            self._answered = True
            if partial.error_code is not None:
                self._error = (partial.error_code, partial.error_message)
        else:
            # Such as a chunk that only counts tokens; the error of an empty answer belongs to the whole answer.
            partial.error_code = partial.error_message = None
            partial.content = Content(role="model", parts=[])
        for name in _FACTS:
            value = getattr(partial, name)
            if value is not None:
                self._facts[name] = value
        if answer.candidates and answer.candidates[0].finish_message:
            self._facts["finish_message"] = answer.candidates[0].finish_message
        if partial.content is not None:
            for part in partial.content.parts or ():
                self._take(part)
        return partial

    def close(self) -> LlmResponse | None:
        """The whole answer; None if it has no parts: see `failure` for why."""
        self._end_call(whole=self._facts.get("finish_reason") == FinishReason.STOP)
        self._end_text()
        if not self._parts and self._had_empty_text:
            self._parts.append(Part(text=""))
        return self._whole(Content(role="model", parts=self._parts)) if self._parts else None

    @property
    def ended(self) -> bool:
        """Whether the answer has ended: a finish reason, a blocked prompt, or chunks that answer nothing."""
        counted = not self._answered and "usage_metadata" in self._facts
        return counted or "finish_reason" in self._facts or self._error is not None

    def whole(self) -> LlmResponse:
        """The whole answer, or why it has no parts."""
        return self.close() or self._whole(Content(role="model", parts=[]) if self._outcome()[0] is None else None)

    def failure(self) -> LlmResponse | None:
        """The failure of an answer without parts, as a response of its own; None if nothing failed."""
        return self._whole(None) if not self._parts and self._outcome()[0] is not None else None

    def _whole(self, content: Content | None) -> LlmResponse:
        code, message = self._outcome()
        facts = {name: value for name, value in self._facts.items() if name != "finish_message"}
        return LlmResponse(content=content, error_code=code, error_message=message, partial=False, **facts)

    def _outcome(self) -> tuple[str | None, str | None]:
        """Error code and message of the whole answer."""
        if self._error is not None:
            return self._error
        reason = self._facts.get("finish_reason")
        if reason is not None and reason != FinishReason.STOP:
            return str(reason.value), self._facts.get("finish_message")
        if self._chunks and not self._answered:
            return "UNKNOWN_ERROR", "Unknown error."
        return None, None

    def _take(self, part: Part) -> None:
        if part.function_call is not None:
            self._take_call(part, part.function_call)
        elif part.text is not None and part.thought_signature is None and _only_text(part):
            self._take_text(part.text, bool(part.thought))
        else:
            self._end_text()
            self._parts.append(part.model_copy())

    def _take_text(self, text: str, thought: bool) -> None:
        if not text:
            self._had_empty_text = True
            return
        if thought is not self._text_is_thought:
            self._end_text()
        self._text_is_thought = thought
        self._text.append(text)

    def _end_text(self) -> None:
        if self._text:
            self._parts.append(Part(text="".join(self._text), thought=self._text_is_thought or None))
            self._text = []

    def _take_call(self, part: Part, call: FunctionCall) -> None:
        pieces = call.partial_args or ()
        if call.name:
            self._end_call()
            # One id for the chunk and for the whole, so that a display of the chunks can tell that they are one call.
            call.id = call.id or new_call_id()
            if not pieces and not call.will_continue:
                self._end_text()
                self._parts.append(part.model_copy(deep=True))
                return
            self._call = FunctionCall(id=call.id, name=call.name, args=deep_copy(call.args) or {})
        if self._call is None:
            return
        self._call_signature = part.thought_signature or self._call_signature
        if self._call.args is not None:
            merge_pieces(self._call.args, pieces)
        if not call.will_continue:
            self._end_call()

    def _end_call(self, *, whole: bool = True) -> None:
        """Close the call whose arguments were arriving; keep it if it is `whole`."""
        if self._call is not None and whole:
            self._end_text()
            self._parts.append(Part(function_call=self._call, thought_signature=self._call_signature))
        self._call = self._call_signature = None


def _only_text(part: Part) -> bool:
    return part.part_metadata is None and not getattr(part, "_extra", None)
