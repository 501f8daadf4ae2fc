"""Messages: a conversation in LiteLLM's form for Claude: thoughts go back, and results hold media."""

from __future__ import annotations

from collections.abc import Sequence

from newel.models.anthropic.blocks import PROVIDER, REDACTED, is_failure
from newel.models.openai.chat.messages import EXTRA_CONTENT, Messages
from newel.models.openai.history import result_media, result_text
from newel.models.wire.signatures import kept_for, signature_of
from newel_kernel import Json
from newel_types import FunctionResponse, Part

_BEGIN = "Go on with the conversation."
_GO_ON = "Continue with what you were doing."


class LiteMessages(Messages):
    """The messages of a conversation with any model."""

    def _call(self, part: Part) -> Json:
        """A call, with the other fields that LiteLLM gave it, such as Gemini's signature."""
        beside: Json = kept_for(part, "litellm", EXTRA_CONTENT) or {}
        return {**super()._call(part), **beside}


class ClaudeMessages(LiteMessages):
    """The messages of a conversation with a model of Anthropic."""

    def whole(self) -> list[Json]:
        """The messages; they begin and end with the user, as the service requires."""
        messages = super().whole()
        if messages and messages[0]["role"] == "assistant":
            messages = [{"role": "user", "content": _BEGIN}, *messages]
        if messages and messages[-1]["role"] == "assistant":
            messages = [*messages, {"role": "user", "content": _GO_ON}]
        return messages

    def from_model(self, parts: Sequence[Part]) -> list[Json]:
        """The messages, with the unchanged thinking blocks of this provider."""
        messages = super().from_model(parts)
        blocks = [block for part in parts if part.thought and (block := _block(part)) is not None]
        if messages and blocks:
            messages[0]["thinking_blocks"] = blocks
        return messages

    def result(self, call_id: str, response: FunctionResponse) -> tuple[Json, list[Json]]:
        """A tool message that holds its media. LiteLLM does not pass ``is_error`` on."""
        if is_failure(response.response or {}):
            self._report(
                "is_error", "LiteLLM does not say that a tool's result is an error; only the result's text does"
            )
        content: list[Json] = [{"type": "text", "text": result_text(response)}]
        for medium in result_media(response):
            if medium.is_image or medium.kind == "pdf":
                url = medium.data_url if medium.data is not None else medium.uri
                content.append({"type": "image_url", "image_url": {"url": url}})
            else:
                content.append(self.medium_or_words(medium))
        return {"role": "tool", "tool_call_id": call_id, "content": content}, []


def _block(part: Part) -> Json | None:
    signature = signature_of(part, PROVIDER)
    if signature is None:
        return None
    text = signature.decode("utf-8", "replace")
    if kept_for(part, PROVIDER, REDACTED):
        return {"type": "redacted_thinking", "data": text}
    return {"type": "thinking", "thinking": part.text or "", "signature": text}
