"""Spans: how an operation looks in a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from traceback import format_exception
from typing import TYPE_CHECKING
from weakref import WeakSet

from newel.telemetry import attributes
from newel.telemetry.generations import Generation
from newel_kernel import Operation, current_operation

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, TracerProvider

#: The spans of all recorders: several may record the same operations to providers of their own.
_spans: WeakSet[Span] = WeakSet()


@dataclass(slots=True)
class OpenOperation:
    """An operation between its start and its end."""

    operation: Operation
    #: None if no spans are recorded.
    span: Span | None = None
    #: The OpenTelemetry context of its next step.
    around: Context | None = None
    #: A failure that a hook answered: the operation ends well all the same.
    failure: BaseException | None = None
    #: Of an agent: the provider of the model that was asked first, and how many calls of models and tools it made.
    provider: str | None = None
    calls: Counter[str] = field(default_factory=Counter)


class Spans:
    """Begins spans with a provider's tracer."""

    def __init__(self, provider: TracerProvider, generation: Generation) -> None:
        from opentelemetry import context, trace

        self._context = context
        self._trace = trace
        self._tracer = provider.get_tracer("newel", version("newel"), schema_url=generation.schema or None)
        self._generation = generation

    def begin(self, operation: Operation, parent: Span | None, *, here: bool) -> Span:
        """The operation's span: below the current one if it begins `here`, else below `parent`."""
        around = None
        if parent is not None and not (here and self._is_ours(parent)):
            around = self._trace.set_span_in_context(parent)
        beginning = attributes.beginning(operation)
        name = self._generation.span_name(attributes.span_name(operation, beginning))
        if parent is not None and not parent.is_recording():
            span = self._tracer.start_span(name, around)  # not sampled: nothing would read its attributes
        else:
            kinds = self._trace.SpanKind
            kind = kinds.CLIENT if operation.kind == "model" else kinds.INTERNAL
            span = self._tracer.start_span(name, around, kind, self._generation.named(beginning))
        _spans.add(span)
        return span

    def _is_ours(self, parent: Span) -> bool:
        """Whether the current span is `parent` or one of the user's within it, and not one of another recorder."""
        span = self._trace.get_current_span()
        return span is parent or span not in _spans

    @contextmanager
    def step(self, recorded: OpenOperation, span: Span) -> Iterator[None]:
        """Make current what was current at the end of the operation's last step; at first that is its own span.

        A generator may hold its own span open over its yields: it continues in that span, and nothing else does.
        """
        if recorded.around is None:
            recorded.around = self._trace.set_span_in_context(span)
        token = self._context.attach(recorded.around)
        try:
            yield
        finally:
            if current_operation.get() is recorded.operation:  # not if an unfinished generator is collected
                recorded.around = self._context.get_current()
                self._context.detach(token)

    def fail(self, span: Span, kind: str, error: BaseException | None) -> None:
        """Mark the span. The text of `error` goes into it as well; that may quote a user or a tool."""
        span.set_attribute("error.type", kind)
        if error is not None:
            span.add_event(
                "exception",
                {
                    "exception.type": kind,
                    "exception.message": str(error),
                    "exception.stacktrace": "".join(format_exception(error)),
                },
            )
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, kind))
