"""Answer: puts a model's answer together, part by part, as its one response.

Whole and streamed answers end here, so that both come out the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from newel.models.wire.arguments import MalformedArgumentsError, parse_arguments
from newel.models.wire.signatures import signed
from newel_kernel import LlmResponse
from newel_types import Content, FinishReason, FunctionCall, GenerateContentResponseUsageMetadata, Part

#: In `custom_metadata`: the finish reason in the service's own word.
FINISH_WORD = "finish_reason"
#: In `custom_metadata`: by a call's position among the calls, a text for the model on why its arguments are unusable.
MALFORMED_CALLS = "newel.malformed_calls"
_CUT = "the answer reached its token limit within the arguments of a call; raise max_output_tokens"
_REFUSED = "the model refused to answer, or its answer was filtered"


class Answer:
    """The parts of one answer in their order. Text of one kind that comes in pieces becomes one part."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.parts: list[Part] = []
        #: Further fields of `custom_metadata`.
        self.metadata: dict[str, Any] = {}
        self.refusal: str | None = None
        self._calls = 0
        self._malformed: dict[str, str] = {}

    def text(self, text: str, *, new: bool = False) -> None:
        """Text of the answer; it joins the text before it unless it is `new`."""
        last = self.parts[-1] if self.parts and not new else None
        if last is not None and last.text is not None and not last.thought and last.thought_signature is None:
            last.text += text
        elif text:
            self.parts.append(Part(text=text))

    def thought(self, text: str, signature: str | bytes | None = None, **metadata: Any) -> None:
        """A whole thought, with the provider's signature, and the other fields that the provider must get back."""
        self.parts.append(signed(Part(text=text, thought=True), self.provider, signature, **metadata))

    def call(
        self,
        call_id: str | None,
        name: str,
        arguments: str | Mapping[str, Any] | None,
        signature: str | None = None,
        **metadata: Any,
    ) -> None:
        """A tool call; its arguments as text, or as the object that the protocol delivers."""
        args: dict[str, Any] = {}
        try:
            args = parse_arguments(arguments) if isinstance(arguments, str | None) else dict(arguments)
        except MalformedArgumentsError as error:
            self._malformed[str(self._calls)] = str(error)
        self._calls += 1
        part = Part(function_call=FunctionCall(id=call_id, name=name, args=args))
        self.parts.append(signed(part, self.provider, signature, **metadata) if signature or metadata else part)

    def response(
        self,
        word: str | None,
        reasons: Mapping[str, FinishReason],
        *,
        usage: GenerateContentResponseUsageMetadata | None = None,
        model_version: str | None = None,
        message: str | None = None,
    ) -> LlmResponse:
        """The one final response. `word` is the service's own finish reason, `reasons` maps such words.

        A refusal is SAFETY with a message; a word that `reasons` lacks is OTHER. A call whose arguments the token
        limit cut is not passed on; any other call with malformed arguments is, for the model to correct.
        """
        reason = FinishReason.SAFETY if self.refusal is not None else reasons.get(word or "", FinishReason.OTHER)
        if self._malformed and reason is FinishReason.MAX_TOKENS:
            self.parts = [part for part in self.parts if part.function_call is None]
            return self._ended(word, reason, _CUT, usage, model_version)
        if reason is FinishReason.SAFETY:
            self.parts = [part for part in self.parts if part.function_call is None]
            return self._ended(word, reason, self.refusal or message or _REFUSED, usage, model_version)
        if self._malformed:
            self.metadata[MALFORMED_CALLS] = self._malformed
            reason, message = FinishReason.MALFORMED_FUNCTION_CALL, "; ".join(self._malformed.values())
            return self._ended(word, reason, message, usage, model_version)
        if reason is not FinishReason.STOP and all(part.thought for part in self.parts):
            return self._ended(word, reason, message, usage, model_version)
        return self._ended(word, reason, None, usage, model_version, failed=False)

    def _ended(
        self,
        word: str | None,
        reason: FinishReason,
        message: str | None,
        usage: GenerateContentResponseUsageMetadata | None,
        model_version: str | None,
        *,
        failed: bool = True,
    ) -> LlmResponse:
        metadata = {**({FINISH_WORD: word} if word else {}), **self.metadata}
        content = Content(role="model", parts=self.parts) if self.parts or not failed else None
        response = LlmResponse(
            content=content,
            finish_reason=reason,
            custom_metadata=metadata or None,
            usage_metadata=usage,
            model_version=model_version,
        )
        if failed:
            response.error_code, response.error_message = reason.value, message
        return response
