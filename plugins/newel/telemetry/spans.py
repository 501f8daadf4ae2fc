"""Spans: how an operation looks in a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from traceback import format_exception
from typing import Any
from weakref import WeakSet

from newel.telemetry import attributes
from newel_kernel import Json, Operation, current_operation

#: The GenAI conventions whose names the attributes have.
SCHEMA = "https://opentelemetry.io/schemas/1.37.0"


#: The spans of all recorders: several may record the same operations to providers of their own.
_made: WeakSet[Any] = WeakSet()


@dataclass(slots=True)
class Begun:
    """What is kept of an operation between its start and its end."""

    operation: Operation
    #: None where only metrics are recorded.
    span: Any
    #: The OpenTelemetry context of its next step.
    around: Any = None
    #: A failure that a hook answered: the operation ends well all the same.
    failure: BaseException | None = None


class Spans:
    """Begins spans with a provider's tracer."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry import context, trace

        self._context: Any = context
        self._trace: Any = trace
        self._tracer = provider.get_tracer("newel", version("newel"), schema_url=SCHEMA)

    def begin(self, operation: Operation, parent: Any, *, here: bool) -> Any:
        """The operation's span: below the current one where it begins `here`, else below `parent`."""
        around = None
        if parent is not None and not (here and self._is_ours(parent)):
            around = self._trace.set_span_in_context(parent)
        name = attributes.span_name(operation)
        if parent is not None and not parent.is_recording():
            span = self._tracer.start_span(name, around)  # not sampled: nobody reads what it would say
        else:
            kinds = self._trace.SpanKind
            kind = kinds.CLIENT if operation.kind == "model" else kinds.INTERNAL
            span = self._tracer.start_span(name, around, kind, attributes.beginning(operation))
        _made.add(span)
        return span

    def _is_ours(self, parent: Any) -> bool:
        """Whether the current span is `parent` or one of the user's within it, and not one of another recorder."""
        span = self._trace.get_current_span()
        return span is parent or span not in _made

    @contextmanager
    def step(self, begun: Begun) -> Iterator[None]:
        """Make current what the operation left so at the end of its last step, at first its own span.

        A generator may hold a span of its own over its yields: it goes on in it, and nobody else does.
        """
        if begun.around is None:
            begun.around = self._trace.set_span_in_context(begun.span)
        token = self._context.attach(begun.around)
        try:
            yield
        finally:
            if current_operation.get() is begun.operation:  # not where garbage is collected that was left unfinished
                begun.around = self._context.get_current()
                self._context.detach(token)

    def fail(self, span: Any, kind: str, error: BaseException | None) -> None:
        """Mark the span; `error` tells what the exception says, which may quote a user or a tool."""
        span.set_attribute("error.type", kind)
        said: Json = {"exception.type": kind}
        if error is not None:
            said |= {
                "exception.message": str(error),
                "exception.stacktrace": "".join(format_exception(error)),
            }
            span.add_event("exception", said)
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, kind))
