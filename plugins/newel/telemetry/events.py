"""Events: model calls as log records, which may hold messages where spans should not."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from newel.telemetry import attributes
from newel.telemetry.content import input_content, output_content
from newel.telemetry.generations import Generation
from newel.telemetry.spans import OpenOperation
from newel_kernel import Signal

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

_NAME = "gen_ai.client.inference.operation.details"
#: Attributes of spans that this event does not have.
_NOT_HERE = frozenset(("gen_ai.provider.name", "gen_ai.agent.name", "gen_ai.request.top_k"))


class Events:
    """Records to a provider's logger."""

    def __init__(self, provider: LoggerProvider, generation: Generation) -> None:
        from opentelemetry import _logs, trace

        self._record, self._trace = _logs.LogRecord, trace
        self._generation = generation
        self._logger = provider.get_logger("newel", version("newel"), schema_url=generation.schema or None)

    def tell_call(self, recorded: OpenOperation, signal: Signal, error: str | None, most: int) -> None:
        """Record a model's call with its messages, in the context of its span."""
        operation = signal.operation
        described = {
            **attributes.beginning(operation),
            **attributes.outcome(signal),
            **input_content(operation, most),
            **output_content(signal, attributes.finish_reason(signal.outcome), most),
            **({"error.type": error} if error else {}),
        }
        named = self._generation.named({key: value for key, value in described.items() if key not in _NOT_HERE})
        context = self._trace.set_span_in_context(recorded.span) if recorded.span is not None else None
        self._logger.emit(self._record(event_name=_NAME, attributes=named, context=context))
