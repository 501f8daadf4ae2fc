"""Reading: the service's answer, whole or in events, as responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from newel.models.anthropic.blocks import BLOCK, PROVIDER, REDACTED
from newel.models.anthropic.output import TOOL
from newel.models.anthropic.requests import Outgoing
from newel.models.anthropic.tool_search import references
from newel.models.deferral import FOUND
from newel.models.wire.answer import Answer
from newel.models.wire.arguments import MalformedArgumentsError, parse_arguments
from newel.models.wire.observers import tell_observers
from newel.models.wire.service import Service
from newel.models.wire.signatures import signed
from newel.models.wire.usage import token_usage
from newel_kernel import Json, LlmResponse
from newel_types import Citation, CitationMetadata, FinishReason, GenerateContentResponseUsageMetadata

REASONS: Mapping[str, FinishReason] = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.STOP,
    "max_tokens": FinishReason.MAX_TOKENS,
    "model_context_window_exceeded": FinishReason.MAX_TOKENS,
    "refusal": FinishReason.SAFETY,
}
PAUSED = "pause_turn"
#: Blocks of tools that the service runs itself. It wants them back; newel has no parts for them.
_OF_SERVER = frozenset(
    (
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
    )
)


class Reading:
    """An answer as it is read. An answer that the service pauses continues in a further message."""

    def __init__(self, outgoing: Outgoing, service: Service) -> None:
        self._tools, self._output, self._service = outgoing.tools, outgoing.output, service
        self.answer = Answer(PROVIDER)
        self.model_version: str | None = None
        self.stop: str | None = None
        self._usage: Json = {}
        self._earlier: list[Json] = []
        self._details: Json = {}
        self._citations: list[Citation] = []
        self._has_server_blocks = False
        self._length = 0

    @property
    def is_paused(self) -> bool:
        """Whether the service waits for a request to continue with its own tools."""
        return self.stop == PAUSED and self._has_server_blocks

    def resume(self) -> None:
        """Continue with a further message."""
        self._earlier.append(self._usage)
        self._usage, self.stop, self._has_server_blocks = {}, None, False

    def message(self, message: Any) -> None:
        """Take a whole message."""
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
            raise self._service.malformed("the answer is not a message of the Messages API")
        self.begin(message)
        for block in content:
            self.block(block)
        self.end(message, message.get("usage"))

    def begin(self, message: Json) -> None:
        """Take the fields at the start of a message."""
        if isinstance(model := message.get("model"), str):
            self.model_version = model
        tell_observers(response_id=message.get("id"))
        self._count(message.get("usage"))

    def end(self, delta: Json, usage: object) -> None:
        """Take the fields at its end: why it stopped, and the final counts."""
        stop = delta.get("stop_reason")
        self.stop = stop if isinstance(stop, str) else self.stop
        if isinstance(sequence := delta.get("stop_sequence"), str):
            self.answer.metadata["stop_sequence"] = sequence
        if isinstance(details := delta.get("stop_details"), dict):
            self._details = details
        self._count(usage)

    def block(self, block: Json, arguments: str | None = None) -> None:
        """Take a whole block. The arguments of a call may be text that came in pieces. Unknown blocks are ignored."""
        kind = block.get("type")
        if kind == "text":
            self._text(_str(block.get("text")), block.get("citations"))
        elif kind == "thinking":
            self.answer.thought(_str(block.get("thinking")), _str(block.get("signature")) or None)
        elif kind == "redacted_thinking":
            self.answer.thought("", _str(block.get("data")), **{REDACTED: True})
        elif kind == "tool_use":
            value = block.get("input")
            self._call(block, arguments if arguments is not None else value if isinstance(value, dict) else None)
        elif kind in _OF_SERVER:
            self._has_server_blocks = True
            found = [self._tools.names.back(name) for name in references(block)]
            self.answer.thought("", None, **{BLOCK: block, FOUND: found or None})

    def response(self) -> LlmResponse:
        """The one final response."""
        message = None
        if self._details:
            category, explanation = self._details.get("category"), self._details.get("explanation")
            message = f"the model refused to answer ({category or 'no category'})"
            message += f": {explanation}" if explanation else ""
            self.answer.metadata["refusal_category"] = category
        response = self.answer.response(
            self.stop, REASONS, usage=self._counted(), model_version=self.model_version, message=message
        )
        if self._citations:
            response.citation_metadata = CitationMetadata(citations=self._citations)
        return response

    def _text(self, text: str, citations: object) -> None:
        text = self._output.unwrapped(text)
        if not text:
            return
        self.answer.text(text, new=True)
        cited = [one for one in citations if isinstance(one, dict)] if isinstance(citations, list) else []
        if cited:
            signed(self.answer.parts[-1], PROVIDER, None, citations=cited)
            self._citations.extend(_citation(one, self._length, self._length + len(text)) for one in cited)
        self._length += len(text)

    def _call(self, block: Json, arguments: str | Json | None) -> None:
        name = _str(block.get("name"))
        args: Json | None
        try:
            args = parse_arguments(arguments) if not isinstance(arguments, dict) else arguments
        except MalformedArgumentsError:
            args = None
        if name == TOOL and self._output.tool is not None:
            for part in self.answer.parts:  # text next to the answer is not part of it
                part.thought = part.thought or part.text is not None or None
            self.answer.text(_str(arguments) if args is None else self._output.of_call(args), new=True)
        elif args is None:
            self.answer.call(block.get("id"), self._tools.names.back(name), _str(arguments))
        else:
            self.answer.call(block.get("id"), self._tools.names.back(name), self._tools.arguments(name, args))

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._usage.update({name: value for name, value in usage.items() if value is not None})

    def _counted(self) -> GenerateContentResponseUsageMetadata | None:
        counts = [one for one in (*self._earlier, self._usage) if one]
        if not counts:
            return None
        read, written_tokens = _sum(counts, "cache_read_input_tokens"), _sum(counts, "cache_creation_input_tokens")
        details = [one.get("output_tokens_details") for one in counts]
        thoughts = [one for one in details if isinstance(one, dict)]
        return token_usage(
            prompt=_sum(counts, "input_tokens") + read + written_tokens,
            output=_sum(counts, "output_tokens"),
            cached=read or None,
            written=written_tokens or None,
            thoughts=_sum(thoughts, "thinking_tokens") if thoughts else None,
        )


def _sum(counts: list[Json], name: str) -> int:
    return sum(value for one in counts if isinstance(value := one.get(name), int))


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _citation(citation: Json, start: int, end: int) -> Citation:
    """The source of a citation; `start` and `end` are the place of the text that it supports."""
    title = citation.get("document_title") or citation.get("title")
    uri = citation.get("url") or citation.get("source")
    return Citation(start_index=start, end_index=end, title=title, uri=uri)
