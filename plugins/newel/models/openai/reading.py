"""Reading: the parts that both protocols' answers share, from unchecked JSON."""

from __future__ import annotations

import json
from typing import Any, TypeGuard

from newel.models.wire.service import Service
from newel.models.wire.usage import token_usage
from newel_kernel import Json, ModelError
from newel_types import (
    Citation,
    CitationMetadata,
    GenerateContentResponseUsageMetadata,
    LogprobsResult,
    LogprobsResultCandidate,
    LogprobsResultTopCandidates,
)

#: The services' codes of passing failures.
_PASSING = frozenset(("server_error", "rate_limit_exceeded", "overloaded", "overloaded_error", "timeout", "api_error"))
_EXCERPT = 200


def parsed(content: bytes, service: Service) -> Json:
    """The JSON object in a body; raises ModelError if it holds none, or reports a failure."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        excerpt = content[:_EXCERPT].decode("utf-8", "replace")
        raise service.malformed(f"not JSON: {excerpt!r}" if excerpt else "an empty body") from None
    if not isinstance(value, dict):
        raise service.malformed(f"not a JSON object: {str(value)[:_EXCERPT]!r}")
    check(value, service)
    return value


def check(value: Json, service: Service) -> None:
    """Raise the failure that an answer of status 200, or an event of it, reports."""
    error = value.get("error")
    if not error:
        return
    raise failure(error, service)


def failure(error: object, service: Service) -> ModelError:
    """The ModelError of an error object: OpenAI's, OpenRouter's (whose code is a status), or a text."""
    if not isinstance(error, dict):
        return service.failed("error", str(error))
    code, kind, message = error.get("code"), error.get("type"), error.get("message")
    if isinstance(code, int) and 400 <= code < 600:
        return service.refused(code, str(message or ""))
    passing = bool({code, kind} & _PASSING) if isinstance(code, str | None) and isinstance(kind, str | None) else False
    return service.failed(str(code or kind or "error"), str(message or error), retryable=passing)


def is_text(value: object) -> TypeGuard[str]:
    """Whether it is a text that is not empty."""
    return isinstance(value, str) and value != ""


def objects(value: object) -> list[Json]:
    """The objects of a list; none if it is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def part_of(value: object, name: str) -> Json:
    """The object under `name`; empty if there is none."""
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def usage_of(value: object, prompt: str, output: str) -> GenerateContentResponseUsageMetadata | None:
    """The token counts, which the protocols name differently; None if the service reported none."""
    if not isinstance(value, dict):
        return None
    of_prompt, of_output = part_of(value, f"{prompt}_details"), part_of(value, f"{output}_details")
    return token_usage(
        prompt=_count(value.get(prompt)),
        output=_count(value.get(output)),
        cached=_count(of_prompt.get("cached_tokens")),
        written=_count(of_prompt.get("cache_write_tokens")),
        thoughts=_count(of_output.get("reasoning_tokens")),
    )


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def logprobs_of(tokens: list[Json]) -> tuple[LogprobsResult | None, float | None]:
    """The log probabilities of tokens, and their mean."""
    if not tokens:
        return None, None
    candidates = [_candidate(token) for token in tokens]
    likely = [[_candidate(other) for other in objects(token.get("top_logprobs"))] for token in tokens]
    values = [one.log_probability for one in candidates if one.log_probability is not None]
    top = [LogprobsResultTopCandidates(candidates=others) for others in likely] if any(likely) else None
    result = LogprobsResult(chosen_candidates=candidates, top_candidates=top)
    return result, (sum(values) / len(values) if values else None)


def _candidate(token: Json) -> LogprobsResultCandidate:
    value, text = token.get("logprob"), token.get("token")
    return LogprobsResultCandidate(
        token=text if isinstance(text, str) else None, log_probability=float(value) if _is_number(value) else None
    )


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def citations_of(annotations: list[Json], offset: int = 0) -> list[Citation]:
    """The sources that an answer names; `offset` is where its text begins in the text of the whole answer."""
    citations: list[Citation] = []
    for one in annotations:
        inner: Any = one.get("url_citation") if isinstance(one.get("url_citation"), dict) else one
        uri = inner.get("url") or inner.get("file_id")
        if not is_text(uri):
            continue
        start, end = _count(inner.get("start_index")), _count(inner.get("end_index"))
        if start is None:  # a file is cited at one place
            start = end = _count(inner.get("index"))
        title = inner.get("title") or inner.get("filename")
        citations.append(
            Citation(
                uri=uri,
                title=title if isinstance(title, str) else None,
                start_index=None if start is None else start + offset,
                end_index=None if end is None else end + offset,
            )
        )
    return citations


def citation_metadata(citations: list[Citation]) -> CitationMetadata | None:
    """The citations of an answer; None if it has none."""
    return CitationMetadata(citations=citations) if citations else None
