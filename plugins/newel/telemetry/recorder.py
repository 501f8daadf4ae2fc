"""The recorder: turns the signals of operations into spans, events and metrics.

A span's parent is the span of the operation's parent, found by its id; if the operation begins in a step of its
parent, it is the current span, which may be the user's own within that step. A span is current while a step of its
operation runs, and detached before anything is yielded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet

from newel.telemetry import attributes, generations
from newel.telemetry.attributes import WITHOUT_SPAN, Attributes
from newel.telemetry.content import input_content, output_content
from newel.telemetry.events import Events
from newel.telemetry.metrics import Metrics
from newel.telemetry.settings import Settings
from newel.telemetry.source import Source
from newel.telemetry.spans import OpenOperation, Spans
from newel_kernel import Operation, Signal, current_operation

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider


class Recorder:
    """Records to the configured providers."""

    def __init__(
        self,
        settings: Settings,
        tracers: Source[TracerProvider],
        meters: Source[MeterProvider],
        loggers: Source[LoggerProvider],
    ) -> None:
        self._settings = settings
        self._sources = tracers, meters, loggers
        self._providers: tuple[object, ...] = ()
        self._spans: Spans | None = None
        self._metrics: Metrics | None = None
        self._events: Events | None = None
        self._open: dict[str, OpenOperation] = {}
        self._generation = generations.chosen()
        _recorders.add(self)

    def enabled(self) -> bool:
        """Whether a provider is configured; checked at every invocation."""
        sources = self._sources
        tracers, meters, loggers = providers = (sources[0].find(), sources[1].find(), sources[2].find())
        if providers != self._providers:
            self._providers, generation = providers, self._generation
            self._spans = Spans(tracers, generation) if tracers is not None else None
            self._metrics = Metrics(meters, generation) if meters is not None else None
            self._events = Events(loggers, generation) if loggers is not None else None
        return providers != (None, None, None)

    def notify(self, signal: Signal) -> None:
        """Begin or end a span, and measure."""
        if signal.operation.kind in _EVENTS:
            if signal.phase == "start":
                self._tell_event(signal.operation)
        elif signal.operation.kind in WITHOUT_SPAN:
            return
        elif signal.phase == "start":
            self._begin(signal.operation)
        else:
            self._end(signal)

    def _begin(self, operation: Operation) -> None:
        begun = self._open[operation.id] = OpenOperation(operation)
        parent = self._above(operation)
        if operation.kind == "model":
            self._note_provider(begun, attributes.provider_of(operation.subject))
        if self._spans is None:
            return
        # It begins in a step of the parent: what is current there is the parent's span, or a span of the user's in it.
        here = current_operation.get() is operation.parent
        begun.span = self._spans.begin(operation, parent.span if parent is not None else None, here=here)
        if self._settings.in_spans() and begun.span.is_recording():
            content = input_content(operation, self._settings.max_text)
            begun.span.set_attributes(self._generation.named(content))

    def _above(self, operation: Operation) -> OpenOperation | None:
        """The recorded operation that it is in."""
        above = operation.parent
        while above is not None:
            if (found := self._open.get(above.id)) is not None:
                return found
            above = above.parent
        return None

    def _note_provider(self, begun: OpenOperation, provider: str) -> None:
        """Tell the agents that a model runs in whose it is: the one below them that was asked first."""
        above = self._above(begun.operation)
        while above is not None and above.provider is None:
            above.provider = provider
            above = self._above(above.operation)

    def _end(self, signal: Signal) -> None:
        recorded = self._open.pop(signal.operation.id, None)
        if recorded is None:
            return
        error = signal.error or recorded.failure
        if (agent := self._agent(signal.operation)) is not None:
            agent.calls[signal.operation.kind] += 1
        kind = attributes.error_type(signal, error)
        if recorded.span is not None:
            try:
                if recorded.span.is_recording():
                    self._describe(recorded.span, recorded, signal)
                    if kind is not None and self._spans is not None:
                        self._spans.fail(recorded.span, kind, error if self._settings.in_spans() else None)
            finally:
                recorded.span.end()
        if self._events is not None and signal.operation.kind == "model" and self._settings.in_events():
            self._events.tell_call(recorded, signal, kind, self._settings.max_text)
        if self._metrics is not None:
            self._metrics.measure(signal, recorded, kind)

    def _agent(self, operation: Operation) -> OpenOperation | None:
        """The agent that made a call."""
        if operation.kind not in ("model", "tool"):
            return None
        above = self._above(operation)
        while above is not None and above.operation.kind != "agent":
            above = self._above(above.operation)
        return above

    def _describe(self, span: Span, recorded: OpenOperation, signal: Signal) -> None:
        described: Attributes = attributes.outcome(signal)
        if signal.operation.kind == "agent":
            described["gen_ai.provider.name"] = recorded.provider or "newel"
        if self._settings.in_spans():
            reason = attributes.finish_reason(signal.outcome)
            described |= output_content(signal, reason, self._settings.max_text)
        span.set_attributes(self._generation.named(described))

    def _tell_event(self, operation: Operation) -> None:
        """A retry, and what a budget decided, is an event of the call's span."""
        above = self._above(operation)
        if above is not None and above.span is not None:
            above.span.add_event(f"newel.{operation.kind}", _EVENTS[operation.kind](operation))

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


def _of_retry(operation: Operation) -> Attributes:
    """Which policy asks again, why, after how long, and which model."""
    cause, retry = operation.input, operation.subject
    facts: Attributes = {
        "newel.retry.policy": operation.name,
        "error.type": attributes.error_type(Signal("exception", operation), cause),
        "newel.retry.delay": retry.delay or 0.0,
    }
    if retry.model is not None:
        facts["newel.retry.model"] = str(getattr(retry.model, "model", retry.model))
    return facts


def _of_budget(operation: Operation) -> Attributes:
    """What a call took, or which limit refused it."""
    facts: Attributes = operation.input
    return facts


#: Operations that are events of a span, by their kinds.
_EVENTS = {"retry": _of_retry, "budget": _of_budget}
_recorders: WeakSet[Recorder] = WeakSet()


def note_failure(error: BaseException) -> None:
    """Keep the failure of the tool call that is running, which may end well because a hook answers it."""
    operation = current_operation.get()
    if operation is not None and operation.kind == "tool":
        for recorder in _recorders:
            recorder.failed(operation, error)
