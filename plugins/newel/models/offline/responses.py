"""Responses of offline models: a text, in chunks if it is streamed, or tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from newel_kernel import LlmResponse, ModelError
from newel_types import Content, FinishReason, FunctionCall, Part

Call = tuple[str, dict[str, Any]]
_CHUNKS = 6


def text_responses(text: str, version: str, stream: bool) -> Iterator[LlmResponse]:
    """`text` as the responses of one model call."""
    if stream:
        for piece in pieces(text):
            yield LlmResponse(
                content=Content(role="model", parts=[Part(text=piece)]), partial=True, model_version=version
            )
    yield LlmResponse(
        content=Content(role="model", parts=[Part(text=text)]),
        partial=False if stream else None,
        model_version=version,
        finish_reason=FinishReason.STOP,
    )


def call_response(calls: Iterable[Call], version: str) -> LlmResponse:
    """The response that asks for `calls`."""
    parts = [Part(function_call=FunctionCall(name=name, args=args)) for name, args in calls]
    return LlmResponse(
        content=Content(role="model", parts=parts), model_version=version, finish_reason=FinishReason.STOP
    )


def pieces(text: str) -> list[str]:
    """`text` cut between words into a few pieces; joined, they are the text."""
    words = re.findall(r"\S+\s*|\s+", text)
    size = max(1, -(-len(words) // _CHUNKS))
    return ["".join(words[at : at + size]) for at in range(0, len(words), size)]


def check_address(address: str, names: tuple[str, ...], remedy: str) -> str:
    """The part of `address` after the colon; raises ModelError unless it is one of `names`."""
    scheme, _, rest = address.partition(":")
    if rest not in names:
        raise ModelError(f"the model address {address!r} is wrong: {scheme!r} knows no {rest!r}; {remedy}")
    return rest
