"""Answers: the content of a message or a delta of Chat Completions, as the parts of an answer."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field

from newel.models.openai.declarations import Declarations
from newel.models.openai.profiles import Profile
from newel.models.openai.reading import citation_metadata, citations_of, is_text, logprobs_of, objects, usage_of
from newel.models.wire.answer import Answer
from newel.models.wire.names import Names
from newel.models.wire.observers import tell_observers
from newel_kernel import Json, LlmResponse
from newel_types import Blob, Citation, FinishReason, GenerateContentResponseUsageMetadata, Part

REASONS = {
    "stop": FinishReason.STOP,
    "tool_calls": FinishReason.STOP,
    "function_call": FinishReason.STOP,
    "length": FinishReason.MAX_TOKENS,
    "content_filter": FinishReason.SAFETY,
}
#: The keys of a delta that holds a text only.
_TEXT_KEYS = frozenset(("content", "role"))
_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.S)


@dataclass(slots=True)
class Call:
    """A call, as far as it has arrived."""

    id: str | None = None
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: object = None


@dataclass(slots=True)
class Whole:
    """The content of one answer."""

    #: Text and thoughts in their order: whether it is a thought, and its pieces.
    texts: list[tuple[bool, list[str]]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    details: list[Json] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    images: list[Part] = field(default_factory=list)
    tokens: list[Json] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    #: The finish reason in the service's own word.
    finish_reason: str | None = None
    model: str | None = None
    usage: GenerateContentResponseUsageMetadata | None = None

    def add(self, text: str, thought: bool) -> None:
        """Add the text that follows."""
        if self.texts and self.texts[-1][0] is thought:
            self.texts[-1][1].append(text)
        else:
            self.texts.append((thought, [text]))

    def note(self, event: Json) -> None:
        """Take the fields of a chunk or a whole answer next to its choices; later counts replace earlier ones."""
        if is_text(event.get("model")):
            self.model = event["model"]
        tell_observers(response_id=event.get("id"))
        usage = usage_of(event.get("usage"), "prompt_tokens", "completion_tokens")
        if usage is not None:
            self.usage = usage

    def response(self, provider: str, names: Names, tools: Declarations) -> LlmResponse:
        """The one response."""
        answer = Answer(provider)
        details = self.details or None
        for thought, pieces in self.texts:
            text = "".join(pieces)
            if thought:
                answer.thought(text, reasoning_details=details)
                details = None
            else:
                answer.text(text)
        if details:
            answer.thought("", reasoning_details=details)
        for call in self.calls:
            self._call(answer, call, names, tools)
        answer.parts.extend(self.images)
        if self.refusal:
            answer.refusal = "".join(self.refusal)
        response = answer.response(self.finish_reason, REASONS, usage=self.usage, model_version=self.model)
        if self.tokens:
            response.logprobs_result, response.avg_logprobs = logprobs_of(self.tokens)
        response.citation_metadata = citation_metadata(self.citations)
        return response

    def _call(self, answer: Answer, call: Call, names: Names, tools: Declarations) -> None:
        arguments = "".join(call.arguments)
        if call.extra is None:
            answer.call(call.id, names.back(call.name), arguments)
        else:
            answer.call(call.id, names.back(call.name), arguments, extra_content=call.extra)
        function_call = answer.parts[-1].function_call
        if function_call is not None and function_call.args:
            function_call.args = tools.arguments(call.name, function_call.args)


def plain_text(chunk: Json) -> str | None:
    """The text of a chunk that holds nothing else, as most chunks of a stream do; else None."""
    choices = chunk.get("choices")
    if choices.__class__ is not list or len(choices) != 1 or chunk.get("usage") or chunk.get("error"):
        return None
    choice = choices[0]
    delta = choice.get("delta") if choice.__class__ is dict else None
    if delta.__class__ is not dict or choice.get("index") or choice.get("finish_reason") or choice.get("logprobs"):
        return None
    text = delta.get("content")
    return text if text and text.__class__ is str and delta.keys() <= _TEXT_KEYS else None


def texts_of(message: Json, profile: Profile) -> list[tuple[str, bool]]:
    """The texts of a message or a delta, each with whether it is a thought."""
    texts: list[tuple[str, bool]] = []
    for name in profile.reasoning_fields:
        if is_text(message.get(name)):
            texts.append((message[name], True))
            break
    content = message.get("content")
    if is_text(content):
        texts.append((content, False))
    for part in objects(content):  # some services answer with a list
        if is_text(part.get("text")):
            texts.append((part["text"], False))
        inner = part.get("thinking")
        texts.extend((one["text"], True) for one in objects(inner) if is_text(one.get("text")))
    return texts


def images_of(message: Json) -> list[Part]:
    """Images that a model made, as OpenRouter sends them."""
    images: list[Part] = []
    for one in objects(message.get("images")):
        inner = one.get("image_url")
        url = inner.get("url") if isinstance(inner, dict) else None
        match = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
        if match is None:
            continue
        try:
            data = base64.b64decode(match[2], validate=True)
        except (ValueError, binascii.Error):
            continue
        images.append(Part(inline_data=Blob(mime_type=match[1], data=data)))
    return images


def tokens_of(choice: Json) -> list[Json]:
    """The log probabilities of a choice."""
    logprobs = choice.get("logprobs")
    return objects(logprobs.get("content")) if isinstance(logprobs, dict) else []


def cited(message: Json) -> list[Citation]:
    """The sources that a message names."""
    return citations_of(objects(message.get("annotations")))


def merge_details(details: list[Json], pieces: list[Json]) -> None:
    """Add OpenRouter's pieces of reasoning to the earlier ones; pieces with the same index are joined."""
    for piece in pieces:
        index = piece.get("index")
        detail = next((one for one in details if index is not None and one.get("index") == index), None)
        if detail is None:
            details.append(dict(piece))
            continue
        for name, value in piece.items():
            before = detail.get(name)
            joined = name in ("text", "summary", "data") and isinstance(before, str) and isinstance(value, str)
            detail[name] = before + value if joined else value
