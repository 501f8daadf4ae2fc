"""The settings of telemetry."""

from __future__ import annotations

import os
from typing import Literal

from pydantic import BaseModel, Field

_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PLACES = {
    "1": "spans",
    "true": "spans",
    "span_only": "spans",
    "event_only": "events",
    "span_and_event": "both",
}


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of telemetry."""

    #: Where messages, arguments, results and error texts are recorded: in ``spans`` (true), as ``events`` of model
    #: calls, in ``both``, or nowhere (false). None: as the variable OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
    #: says (true, span_only, event_only or span_and_event), else nowhere.
    capture_content: bool | Literal["spans", "events", "both"] | None = None
    #: The most characters of one text in a span.
    max_text: int = Field(default=10_000, ge=0)

    def in_spans(self) -> bool:
        """Whether spans hold content."""
        return self._place() in ("spans", "both")

    def in_events(self) -> bool:
        """Whether model calls are recorded as events, with their messages."""
        return self._place() in ("events", "both")

    def _place(self) -> str | None:
        if self.capture_content is None:
            return _PLACES.get(os.environ.get(_VARIABLE, "").strip().lower())
        return "spans" if self.capture_content is True else self.capture_content or None
