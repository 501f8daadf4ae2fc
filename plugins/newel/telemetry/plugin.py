"""telemetry: OpenTelemetry spans and metrics of invocations, agents, model calls and tool calls.

It records as soon as the application has configured a tracer or meter provider; until then nobody records, and
nothing is paid.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from pydantic import BaseModel, Field

from newel.telemetry.recorder import Recorder, note_failure
from newel_kernel import Observer, hookimpl

_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_IN_SPANS = {"1", "true", "span_only", "span_and_event"}


class Settings(BaseModel, extra="forbid"):
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


class TelemetryPlugin:
    """Records to given providers, or to the application's where none is given: ``Runner(plugins=[...])``."""

    def __init__(
        self, *, tracer_provider: Any = None, meter_provider: Any = None, name: str = "open_telemetry", **settings: Any
    ) -> None:
        self.name = name
        self._recorder = Recorder(Settings(**settings), tracer_provider, meter_provider)

    @hookimpl
    def register_observers(self) -> list[Observer]:
        """The observer that records."""
        return [self._recorder.as_observer(self.name)]

    @hookimpl(tryfirst=True)
    def on_tool_error_callback(self, error: Exception) -> None:
        """A tool's failure, which another hook may answer."""
        note_failure(error)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_observers(settings: Mapping[str, Any]) -> list[Observer]:
    """The observer that records to the application's providers; none where OpenTelemetry is not installed."""
    return [] if why_off() else [Recorder(settings["telemetry"]).as_observer("telemetry")]


@hookimpl(tryfirst=True)
def on_tool_error_callback(error: Exception) -> None:
    """A tool's failure, which another hook may answer."""
    note_failure(error)


def why_off() -> str | None:
    """Why nothing is ever recorded here, for `newel plugins`."""
    try:
        found = find_spec("opentelemetry.trace")
    except ModuleNotFoundError:
        found = None
    return None if found else "opentelemetry-api is not installed (pip install 'newel[telemetry]')"
