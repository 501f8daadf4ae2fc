"""Metrics: how long operations take, and how many tokens model calls use."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from newel.telemetry import attributes
from newel.telemetry.spans import SCHEMA
from newel_kernel import Operation, Signal

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider

#: The buckets that the conventions recommend.
_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
#: Kind of operation -> its histogram, and what it measures.
_DURATIONS = {
    "model": ("gen_ai.client.operation.duration", "How long model calls take"),
    "agent": ("gen_ai.invoke_agent.duration", "How long agents run"),
    "tool": ("gen_ai.execute_tool.duration", "How long tool calls take"),
}


class Metrics:
    """Records to a provider's meter."""

    def __init__(self, provider: MeterProvider) -> None:
        meter = provider.get_meter("newel", metadata.version("newel"), schema_url=SCHEMA)
        self._durations = {
            kind: meter.create_histogram(name, "s", says, explicit_bucket_boundaries_advisory=_SECONDS)
            for kind, (name, says) in _DURATIONS.items()
        }
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "How many tokens model calls use",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )

    def measure(self, signal: Signal, error: str | None) -> None:
        """Record the operation that ended."""
        histogram = self._durations.get(signal.operation.kind)
        if histogram is None:
            return
        labels = _labels(signal.operation)
        if signal.operation.kind == "model" and (version := getattr(signal.outcome, "model_version", None)):
            labels["gen_ai.response.model"] = version
        histogram.record(signal.seconds, {**labels, "error.type": error} if error else labels)
        if signal.operation.kind == "model":
            for kind, count in attributes.tokens(signal.outcome).items():
                self._tokens.record(count, {**labels, "gen_ai.token.type": kind})


def _labels(operation: Operation) -> dict[str, str]:
    labels: dict[str, str] = {}
    if agent := attributes.agent_of(operation):
        labels["gen_ai.agent.name"] = agent
    if operation.kind == "model":
        labels["gen_ai.operation.name"] = "generate_content"
        labels["gen_ai.provider.name"] = attributes.provider_of(operation.subject)
        labels["gen_ai.request.model"] = operation.name
    elif operation.kind == "tool":
        exists = operation.subject is not None  # do not label by invented names: unbounded cardinality
        labels["gen_ai.tool.name"] = operation.name if exists else "(unknown)"
        labels["gen_ai.tool.type"] = type(operation.subject).__name__ if exists else "(unknown)"
    return labels
