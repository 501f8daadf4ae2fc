"""Differences: where a provider's responses differ from the service's answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from newel_kernel import LlmResponse
from newel_testkit.wire.answers import Answer
from newel_testkit.wire.anthropic import redacted, signature
from newel_types import FunctionCall, Part

_REASONS = {"max": "MAX_TOKENS", "safety": "SAFETY", "model_context_window_exceeded": "MAX_TOKENS"}
_OURS = ("end", "stop", "tool")


def is_no_answer(answer: Answer) -> bool:
    """Whether an answer is a refusal or a failure, which must come as an error or with an error code."""
    return answer.stop in ("safety", "failed") or bool(answer.more.keys() & {"refusal", "no_choices"})


def differences(
    answer: Answer, responses: Sequence[LlmResponse], error: Exception | None, protocol: str, *, stream: bool
) -> Iterator[str]:
    """The differences, a sentence each."""
    finals = [one for one in responses if not one.partial]
    coded = error is not None or any(one.error_code for one in responses)
    calls = [call for one in finals for call in _calls(one)]
    if is_no_answer(answer):
        if not coded:
            yield f"a refusal looks like an answer: {finals}"
    elif answer.raw_args is not None and not (protocol == "anthropic" and not stream):
        if not coded and calls:
            yield f"a call whose arguments are not an object is passed on: {calls[0]}"
    elif error is not None:
        yield f"raised {type(error).__name__}: {error}"
    elif len(finals) != 1:
        yield f"{len(finals)} final responses"
    else:
        yield from _parts_differ(answer, finals[0], calls, protocol)
        yield from _end_differs(answer, finals[0])
        if stream:
            yield from _chunks_differ(answer, responses)


def _parts_differ(answer: Answer, final: LlmResponse, calls: list[FunctionCall], protocol: str) -> Iterator[str]:
    parts = _parts(final)
    for kind, text in (("text", _text(parts, thought=False)), ("thought", _text(parts, thought=True))):
        want = "".join(part[kind] for part in answer.parts if kind in part)
        if text.replace("\n", "") != want.replace("\n", "") and (want or kind == "text"):
            yield f"{kind} {text[:60]!r} instead of {want[:60]!r}"
    want_calls = [part["call"] for part in answer.parts if "call" in part]
    if len(calls) != len(want_calls):
        yield f"{len(calls)} calls instead of {len(want_calls)}"
    for have, want_call in zip(calls, want_calls, strict=False):
        if (have.name, have.args or {}) != (want_call["name"], want_call["args"]):
            yield f"the call {have.name}({have.args}) instead of {want_call['name']}({want_call['args']})"
        if have.id != want_call["id"] and not answer.more.get("no_ids"):
            yield f"the id {have.id!r} of a call instead of {want_call['id']!r}"
    yield from _unsigned(answer, parts, protocol)
    cited = final.citation_metadata is not None or "cited_text" in final.model_dump_json()
    if any(part.get("citations") for part in answer.parts) and not cited:
        yield "citations are lost"


def _unsigned(answer: Answer, parts: list[Part], protocol: str) -> Iterator[str]:
    signatures = b" ".join(part.thought_signature for part in parts if part.thought_signature).decode("latin-1")
    if protocol == "anthropic":
        for part in answer.parts:
            if "thought" in part and signature(part["thought"]) not in signatures:
                yield "the signature of a thought is lost"
            if "redacted" in part and redacted(part["redacted"]) not in signatures:
                yield "a redacted thought is lost"
    elif protocol == "gemini" and not signatures and any(part.keys() & {"thought", "call"} for part in answer.parts):
        yield "the signature is lost"


def _end_differs(answer: Answer, final: LlmResponse) -> Iterator[str]:
    reason = final.finish_reason.value if final.finish_reason is not None else None
    want = _REASONS.get(answer.stop, "STOP" if answer.stop in _OURS else None)
    if (want and reason != want) or (want is None and reason in (None, "STOP")):
        yield f"the finish reason {reason} instead of {want or 'OTHER'}"
    if not answer.usage:
        return
    used, thoughts = final.usage_metadata, answer.usage.get("reasoning", 0)
    if used is None:
        yield "the usage is lost"
        return
    expected = {
        "prompt_token_count": answer.usage["input"],
        "candidates_token_count": answer.usage["output"] - thoughts,
        "total_token_count": answer.usage["input"] + answer.usage["output"],
        "cached_content_token_count": answer.usage.get("cached", 0),
        "thoughts_token_count": thoughts,
    }
    for name, count in expected.items():
        if (getattr(used, name) or 0) != count:
            yield f"usage {name}={getattr(used, name)} instead of {count}"


def _chunks_differ(answer: Answer, responses: Sequence[LlmResponse]) -> Iterator[str]:
    chunks = [part for one in responses if one.partial for part in _parts(one)]
    want, have = "".join(part.get("text", "") for part in answer.parts), _text(chunks, thought=False)
    if want and have != want:
        yield f"the chunks add up to {have[:60]!r}"
    ids = {part.function_call.id for part in chunks if part.function_call is not None}
    call_ids = {part["call"]["id"] for part in answer.parts if "call" in part}
    if ids - call_ids and not answer.more.get("no_ids"):
        yield f"the calls in the chunks have different ids: {json.dumps(sorted(map(str, ids)))}"


def _parts(response: LlmResponse) -> list[Part]:
    return (response.content.parts or []) if response.content is not None else []


def _calls(response: LlmResponse) -> list[FunctionCall]:
    return [part.function_call for part in _parts(response) if part.function_call is not None]


def _text(parts: Sequence[Part], *, thought: bool) -> str:
    return "".join(part.text for part in parts if part.text and bool(part.thought) is thought)
