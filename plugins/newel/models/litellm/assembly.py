"""Assembly: LiteLLM's answers, with the thinking blocks of Claude."""

from __future__ import annotations

from newel.models.anthropic.blocks import PROVIDER, REDACTED
from newel.models.openai.chat.messages import EXTRA_CONTENT
from newel.models.openai.chat.stream import Assembly
from newel.models.openai.declarations import Declarations
from newel.models.openai.profiles import Profile
from newel.models.openai.reading import is_text, objects
from newel.models.wire.answer import FINISH_WORD
from newel.models.wire.names import Names
from newel.models.wire.service import Service
from newel.models.wire.signatures import signed
from newel_kernel import Json, LlmResponse
from newel_types import Citation, CitationMetadata, Content, Part

#: Where LiteLLM puts the signature of a call of Gemini, and the separator between an id and its signature.
_FIELDS, _SIGNATURE, _SEPARATOR = "provider_specific_fields", "thought_signature", "__thought__"


class LiteAssembly(Assembly):
    """Puts one answer together; the finish reason comes from the wire, if that is watched."""

    def __init__(
        self, service: Service, profile: Profile, names: Names, tools: Declarations, *, wrapped: bool = False
    ) -> None:
        super().__init__(service, profile, names, tools, wrapped=wrapped)
        #: The thinking blocks and the sources so far.
        self.thoughts: list[Json] = []
        self.sources: list[Citation] = []
        self._ending: tuple[str | None, str | None] = (None, None)

    def feed(self, chunk: Json) -> LlmResponse | None:
        """As in Chat Completions; a chunk may hold pieces of thinking blocks."""
        partial = super().feed(chunk)
        pieces = [block for choice in objects(chunk.get("choices")) for block in _blocks(choice.get("delta"))]
        thoughts = [Part(text=text, thought=True) for piece in pieces if (text := self.think(piece))]
        if not thoughts:
            return partial
        parts = list(partial.content.parts or ()) if partial is not None and partial.content is not None else []
        return LlmResponse(Content(role="model", parts=[*thoughts, *parts]), True, self._whole.model)

    def complete(self, body: Json) -> LlmResponse:
        """As in Chat Completions."""
        for choice in objects(body.get("choices")):
            for block in _blocks(choice.get("message")):
                self.think({**block, "whole": True})
        return super().complete(body)

    def think(self, piece: Json) -> str:
        """Take a thinking block or a piece of one (its signature ends it); return the text to show."""
        thoughts = self.thoughts
        if piece.get("type") == "redacted_thinking":
            thoughts.append({"data": piece.get("data") or "", "done": True})
            return ""
        if not thoughts or thoughts[-1]["done"]:
            thoughts.append({"text": "", "signature": "", "done": False})
        text = piece["thinking"] if is_text(piece.get("thinking")) else ""
        thoughts[-1]["text"] += text
        if is_text(piece.get("signature")):
            thoughts[-1]["signature"] = piece["signature"]
            thoughts[-1]["done"] = True
        return text

    def cite(self, citations: object) -> None:
        """Note the sources that LiteLLM names; it lists them by block."""
        for one in citations if isinstance(citations, list) else ():
            if isinstance(one, list):
                self.cite(one)
            elif isinstance(one, dict):
                self.sources.append(_citation(one))

    def refuse(self) -> None:
        """Note that the service refused to answer."""
        if not self._whole.refusal:
            self._whole.refusal.append("the model refused to answer")

    def end(self, word: str | None, meaning: str | None) -> None:
        """Note the finish reason, in the service's own word and in that of Chat Completions."""
        self._ending = (word, meaning or word)

    def _call(self, delta: Json) -> None:
        """A piece of a call. Gemini's signature is next to it, or appended to its id."""
        function = delta.get("function")
        places = [one.get(_FIELDS) for one in (delta, function) if isinstance(one, dict)]
        signature = next((one[_SIGNATURE] for one in places if isinstance(one, dict) and one.get(_SIGNATURE)), None)
        if is_text(call_id := delta.get("id")):
            own, _, suffix = call_id.partition(_SEPARATOR)
            delta, signature = {**delta, "id": own}, signature or suffix
        if signature:
            delta = {**delta, EXTRA_CONTENT: {_FIELDS: {_SIGNATURE: signature}}}
        super()._call(delta)

    def _response(self) -> LlmResponse:
        self._whole.finish_reason = self._ending[1] or self._whole.finish_reason
        return super()._response()

    def finished(self, response: LlmResponse) -> LlmResponse:
        """`response` with its thinking blocks before the rest, and the service's own word for the finish reason."""
        parts = [_thought(block) for block in self.thoughts]
        if parts and (response.content is not None or response.error_code is None):
            others = list(response.content.parts or ()) if response.content is not None else []
            response.content = Content(role="model", parts=[*parts, *others])
        if self.sources and response.citation_metadata is None:
            response.citation_metadata = CitationMetadata(citations=self.sources)
        own = self._ending[0]
        if own is not None:
            response.custom_metadata = {**(response.custom_metadata or {}), FINISH_WORD: own}
        return response


def _blocks(message: object) -> list[Json]:
    return objects(message.get("thinking_blocks")) if isinstance(message, dict) else []


def _citation(source: Json) -> Citation:
    title = source.get("document_title") or source.get("title")
    uri = source.get("url") or source.get("source")
    return Citation(title=title if is_text(title) else None, uri=uri if is_text(uri) else None)


def _thought(block: Json) -> Part:
    if "data" in block:
        return signed(Part(text="", thought=True), PROVIDER, block["data"], **{REDACTED: True})
    return signed(Part(text=block["text"], thought=True), PROVIDER, block["signature"] or None)
