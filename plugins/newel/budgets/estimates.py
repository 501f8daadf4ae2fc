"""Estimates: the most tokens that a request may have, as far as it can be told before the provider counts them.

A text is estimated; media, files, and what a service adds by itself are taken at their most, and nothing is more than
the model's window. What a model reported beyond its estimate is remembered for the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from newel.models.google.request_keys import PREVIOUS_INTERACTION
from newel.models.token_estimates import tokens_of_text
from newel_kernel import LlmRequest

#: By how much an estimate of a request's text may fall short of the provider's count.
_MARGIN = 1.25
_SLACK = 100
#: The most tokens of an image: by models, else by providers, else.
_IMAGE_OF_MODEL = ((re.compile(r"(.*/)?gpt-4o-mini.*"), 49_000),)
_IMAGE = {"anthropic": 5_000, "gemini": 5_000, "gcp.gemini": 5_000}
_ANY_IMAGE = 12_000
#: The fewest bytes of a token of a medium: speech at 6 kbit/s, sound without compression, a film of still pictures.
_BYTES = {"audio": 16, "video": 8}
_PLAIN_SOUND = 250
_SOUND = re.compile(r"audio/(x-)?(wav|wave|pcm|l16|l24)\b.*")
#: A page of a PDF is an image and a text; each of its bytes may be a token.
_PDF = 5_000
#: From how many tokens on a report says by which factor an estimate falls short, and not only by how much.
_LONG = 1_000
#: What is learnt has bounds: a report may be odd.
_MOST_FACTOR, _MOST_SLACK, _MOST_WRITTEN = 10.0, 100_000, 1_000_000


@dataclass(slots=True)
class Experience:
    """By how much a model's reports were more than what was estimated, in this process."""

    factor: float = _MARGIN
    slack: int = _SLACK
    #: The longest answer.
    written: int = 0

    def learn_text(self, estimate: int, read: int) -> None:
        """Take in how many tokens a request without media had."""
        if estimate >= _LONG:
            self.factor = min(max(self.factor, read / estimate), _MOST_FACTOR)
        else:
            self.slack = min(max(self.slack, read - estimate), _MOST_SLACK)

    def learn_answer(self, written: int) -> None:
        """Take in how many tokens an answer had."""
        self.written = min(max(self.written, written), _MOST_WRITTEN)

    def most_of(self, estimate: int) -> int:
        """The most tokens of a text that has about so many."""
        return round(estimate * self.factor) + self.slack


def most_of_media(request: LlmRequest, provider: str, name: str) -> int | None:
    """The most tokens of a request's media; None if they are not known: it may fill the window."""
    if request.config.cached_content or request.stash.get(PREVIOUS_INTERACTION, None) or _has_server_tools(request):
        return None
    total = 0
    for blob, file in _media(request):
        if blob is None or not isinstance(blob.data, bytes):
            if file is not None or blob is not None:
                return None
            continue
        total += _most(blob.data, blob.mime_type or "", provider, name)
    return total


def _has_server_tools(request: LlmRequest) -> bool:
    """Whether a tool runs at the service, which reads its results as a part of the request."""
    tools: list[Any] = [*(request.config.tools or ())]
    fields = (field for tool in tools for field in (tool.items() if isinstance(tool, Mapping) else tool))
    return any(value is not None and name != "function_declarations" for name, value in fields)


def _media(request: LlmRequest) -> Iterator[tuple[Any, Any]]:
    """Of each part with a medium, also in the results of tools, what it holds and which file it names."""
    for content in request.contents:
        for part in content.parts or ():
            yield part.inline_data, part.file_data
            if part.function_response is not None:
                for one in part.function_response.parts or ():
                    yield one.inline_data, one.file_data


def _most(data: bytes, mime_type: str, provider: str, name: str) -> int:
    kind = mime_type.partition("/")[0]
    if kind == "image":
        return next(
            (most for names, most in _IMAGE_OF_MODEL if names.fullmatch(name)), _IMAGE.get(provider, _ANY_IMAGE)
        )
    if kind == "text":
        return round(tokens_of_text(data.decode(errors="replace"), provider) * _MARGIN)
    if _SOUND.fullmatch(mime_type.lower()):
        return len(data) // _PLAIN_SOUND + _SLACK
    if kind in _BYTES:
        return len(data) // _BYTES[kind] + _SLACK
    return len(data) + _PDF
