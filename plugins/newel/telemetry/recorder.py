"""The observer: turns the signals of operations into spans and metrics.

A span's parent is the span of the operation's parent, found by its id; if the operation begins in a step of its
parent, it is the current span, which may be the user's own within that step. A span is current while a step of its
operation runs, and detached before anything is yielded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet

from newel.telemetry import attributes
from newel.telemetry.metrics import Metrics
from newel.telemetry.settings import Settings
from newel.telemetry.source import Source
from newel.telemetry.spans import OpenOperation, Spans
from newel_kernel import Operation, Signal, current_operation

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider


class Recorder:
    """Records to the configured providers."""

    def __init__(self, settings: Settings, tracers: Source[TracerProvider], meters: Source[MeterProvider]) -> None:
        self._settings = settings
        self._tracers = tracers
        self._meters = meters
        self._providers: tuple[TracerProvider | None, MeterProvider | None] = (None, None)
        self._spans: Spans | None = None
        self._metrics: Metrics | None = None
        self._open: dict[str, OpenOperation] = {}
        _recorders.add(self)

    def enabled(self) -> bool:
        """Whether a provider is configured; checked at every invocation."""
        providers = (self._tracers.find(), self._meters.find())
        if providers != self._providers:
            tracers, meters = self._providers = providers
            self._spans = Spans(tracers) if tracers is not None else None
            self._metrics = Metrics(meters) if meters is not None else None
        return providers != (None, None)

    def notify(self, signal: Signal) -> None:
        """Begin or end a span, and measure."""
        if signal.phase == "start":
            self._begin(signal.operation)
        else:
            self._end(signal)

    def _begin(self, operation: Operation) -> None:
        spans = self._spans
        if spans is None:
            self._open[operation.id] = OpenOperation(operation, None)
            return
        parent = operation.parent
        above = self._open.get(parent.id) if parent is not None else None
        parent_span = above.span if above is not None else None
        # It begins in a step of the parent: what is current there is the parent's span, or a span of the user's in it.
        span = spans.begin(operation, parent_span, here=current_operation.get() is parent)
        self._open[operation.id] = OpenOperation(operation, span)
        if span.is_recording() and self._settings.captures():
            span.set_attributes(attributes.input_content(operation, self._settings.max_text))

    def _end(self, signal: Signal) -> None:
        operation = signal.operation
        recorded = self._open.pop(operation.id, None)
        if recorded is None:
            return
        error = signal.error or recorded.failure
        span = recorded.span
        if span is not None:
            try:
                if span.is_recording():
                    self._describe(span, signal, error)
            finally:
                span.end()
        if self._metrics is not None:
            self._metrics.measure(signal, attributes.error_type(signal, error))

    def _describe(self, span: Span, signal: Signal, error: BaseException | None) -> None:
        span.set_attributes(attributes.outcome(signal))
        captures = self._settings.captures()
        if captures:
            span.set_attributes(attributes.output_content(signal, self._settings.max_text))
        kind = attributes.error_type(signal, error)
        if kind is not None and self._spans is not None:
            self._spans.fail(span, kind, error if captures else None)

    @contextmanager
    def within(self, operation: Operation) -> Iterator[None]:
        """Make the operation's span the current one."""
        recorded = self._open.get(operation.id)
        if recorded is None or recorded.span is None or self._spans is None:
            yield
            return
        with self._spans.step(recorded, recorded.span):
            yield

    def failed(self, operation: Operation, error: BaseException) -> None:
        """Keep a failure until the operation ends."""
        if (recorded := self._open.get(operation.id)) is not None:
            recorded.failure = error


_recorders: WeakSet[Recorder] = WeakSet()


def note_failure(error: BaseException) -> None:
    """Keep the failure of the tool call that is running, which may end well because a hook answers it."""
    operation = current_operation.get()
    if operation is not None and operation.kind == "tool":
        for recorder in _recorders:
            recorder.failed(operation, error)
