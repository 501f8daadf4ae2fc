"""Faults: what can go wrong instead of an answer, or within it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from newel_testkit.wire.http import Then

_HUGE = 50_000_000
_SPENT = b'{"error": {"message": "No quota left.", "type": "insufficient_quota", "code": "insufficient_quota"}}'
_PAGE = b"<html><h1>Sign in</h1></html>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way in which a request fails."""

    name: str
    status: int = 200
    message: str = ""
    #: The seconds of a ``retry-after`` header.
    retry_after: float | None = None
    #: The body as it goes out, and its type.
    raw: bytes | None = None
    content_type: str | None = None
    #: Whether it hits a stream after half of its events; a whole answer does not have it.
    within: bool = False
    then: Then = "end"
    #: What the stream ends with: ``error``, ``bad_json``, ``no_end``, ``huge``; empty: nothing special.
    event: str = ""
    #: How many bytes of text the answer has.
    huge: int = 0
    #: Whether the same request may succeed later.
    passes: bool = False


def _by_name(*faults: Fault) -> dict[str, Fault]:
    return {fault.name: fault for fault in faults}


FAULTS = _by_name(
    *(Fault(name=str(status), status=status, passes=True) for status in (429, 500, 503, 504, 529)),
    *(Fault(name=str(status), status=status) for status in (400, 401, 403, 404, 413)),
    Fault(name="502_html", status=502, raw=_PAGE, content_type="text/html", passes=True),
    Fault(name="429_spent", status=429, raw=_SPENT),
    Fault(name="reset", then="reset", passes=True),
    Fault(name="closed", then="close", passes=True),
    Fault(name="stall", then="stall"),
    Fault(name="malformed", raw=b'{"id": "x", "content": ['),
    Fault(name="wrong_type", raw=_PAGE, content_type="text/html"),
    Fault(name="empty", raw=b""),
    Fault(name="null", raw=b"null"),
    Fault(name="wrong_shape", raw=b'{"id": 5, "content": "x", "choices": 5, "candidates": "x", "output": 7}'),
    Fault(name="redirect", status=302),
    Fault(name="huge", huge=_HUGE),
    Fault(name="stream_cut", within=True, then="cut"),
    Fault(name="stream_reset", within=True, then="reset"),
    Fault(name="stream_stall", within=True, then="stall"),
    Fault(name="stream_error", within=True, event="error"),
    Fault(name="stream_bad_json", within=True, event="bad_json"),
    Fault(name="stream_no_end", within=True, event="no_end"),
    Fault(name="stream_huge", within=True, event="huge", huge=_HUGE),
)


def fault(name: str, **changes: Any) -> Fault:
    """A fault by its name, with some changes: ``fault("429", retry_after=1)``."""
    return replace(FAULTS[name], **changes)
