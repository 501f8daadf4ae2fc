"""The watch: looks for a provider at every invocation, and loads the recorder once there is one."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from newel.telemetry.source import Source
from newel_kernel import Observer, Operation, Signal
from newel_types import deferred

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from newel.telemetry.recorder import Recorder
    from newel.telemetry.settings import Settings

_TRACE, _METRICS, _LOGS = "opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs"
_loaded = sys.modules

_recorder = deferred("newel.telemetry.recorder", "Recorder")


class Watch:
    """Looks for providers: those that it is made with, else the application's, if any."""

    def __init__(
        self,
        settings: Settings,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        self._settings = settings
        self._tracers: Source[TracerProvider] = Source("trace", "tracer", tracer_provider)
        self._meters: Source[MeterProvider] = Source("metrics", "meter", meter_provider)
        self._loggers: Source[LoggerProvider] = Source("_logs", "logger", logger_provider)
        self._waits = self._tracers.waits and self._meters.waits and self._loggers.waits
        self._recorder: Recorder | None = None

    def as_observer(self, name: str) -> Observer:
        """The observer that records operations to the providers."""
        return Observer(name=name, notify=self._notify, within=self._within, enabled=self.enabled)

    def enabled(self) -> bool:
        """Whether there is a provider to record to."""
        if self._waits and _TRACE not in _loaded and _METRICS not in _loaded and _LOGS not in _loaded:
            return False  # a module that was never imported is not configured
        return self._records().enabled()

    def _records(self) -> Recorder:
        if self._recorder is None:
            self._recorder = _recorder()(self._settings, self._tracers, self._meters, self._loggers)
        return self._recorder

    def _notify(self, signal: Signal) -> None:
        self._records().notify(signal)

    def _within(self, operation: Operation) -> AbstractContextManager[None]:
        return self._records().within(operation)


def note_failure(error: BaseException) -> None:
    """Tell the recorder that the running tool call has failed: it may still end well, because a hook answers."""
    if (recorder := _loaded.get("newel.telemetry.recorder")) is not None:
        recorder.note_failure(error)
