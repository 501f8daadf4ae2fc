"""The settings of telemetry."""

from __future__ import annotations

import os

from pydantic import BaseModel, Field

_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_IN_SPANS = {"1", "true", "span_only", "span_and_event"}


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of telemetry."""

    #: Whether spans hold messages, arguments, results and error texts; None: as the variable
    #: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says (true, span_only or span_and_event), else not.
    capture_content: bool | None = None
    #: The most characters of one text in a span.
    max_text: int = Field(default=10_000, ge=0)

    def captures(self) -> bool:
        """Whether spans hold content."""
        if self.capture_content is not None:
            return self.capture_content
        return os.environ.get(_VARIABLE, "").strip().lower() in _IN_SPANS
