"""Metrics: how long operations take, how many tokens model calls use, and how many calls an agent makes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING

from newel.telemetry import attributes
from newel.telemetry.attributes import Attributes
from newel.telemetry.generations import Generation
from newel.telemetry.spans import OpenOperation
from newel_kernel import Signal

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, MeterProvider

#: The buckets that the conventions recommend.
_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
_CALLS = [1, 2, 4, 8, 16, 32, 64, 128]
_CALL, _AGENT, _TOOL = "How long model calls take", "How long agents run", "How long tool calls take"
#: What agents do, by the kind of the operation.
_CALLS_OF_AGENTS = {"model": "inference_calls", "tool": "tool_calls"}


class Metrics:
    """Records to a provider's meter."""

    def __init__(self, provider: MeterProvider, generation: Generation) -> None:
        self._meter = provider.get_meter("newel", metadata.version("newel"), schema_url=generation.schema or None)
        self._count = self._counted if generation.is_latest else self._counted_of_old
        #: Agents and tools have no metrics in the old conventions.
        own = "gen_ai" if generation.is_latest else "newel"
        call = "inference" if generation.is_latest else "operation"
        self._durations = {
            "model": self._histogram(f"gen_ai.client.{call}.duration", "s", _CALL, _SECONDS),
            "agent": self._histogram(f"{own}.invoke_agent.duration", "s", _AGENT, _SECONDS),
            "tool": self._histogram(f"{own}.execute_tool.duration", "s", _TOOL, _SECONDS),
        }
        self._calls = {
            kind: self._histogram(f"{own}.invoke_agent.{name}", "{call}", "How many calls an agent makes", _CALLS)
            for kind, name in _CALLS_OF_AGENTS.items()
        }
        if generation.is_latest:
            self._first = self._histogram(
                "gen_ai.client.inference.time_to_first_chunk",
                "s",
                "How long a streamed answer's first chunk takes",
                _SECONDS,
            )
            self._used: dict[str, Counter] = {
                kind: self._meter.create_counter(f"gen_ai.client.inference.usage.{kind}_tokens", "{token}")
                for kind in ("input", "output", "cache_read.input", "cache_write.input", "reasoning.output")
            }
            self._of_call = {
                kind: self._histogram(
                    f"gen_ai.client.inference.operation.{kind}_tokens",
                    "{token}",
                    "How many tokens a call uses",
                    _TOKENS,
                )
                for kind in ("input", "output")
            }
        else:
            says = "How many tokens model calls use"
            self._tokens = self._histogram("gen_ai.client.token.usage", "{token}", says, _TOKENS)

    def _histogram(self, name: str, unit: str, says: str, buckets: list[float] | list[int]) -> Histogram:
        make: Callable[..., Histogram] = self._meter.create_histogram
        return make(name, unit, says, explicit_bucket_boundaries_advisory=buckets)

    def measure(self, signal: Signal, recorded: OpenOperation, error: str | None) -> None:
        """Record the operation that ended."""
        operation = signal.operation
        histogram = self._durations.get(operation.kind)
        if histogram is None:
            return
        labels = _labels(signal)
        failed = {**labels, "error.type": error} if error else labels
        if operation.kind == "model":
            self._count(signal, labels)
        elif operation.kind == "agent":
            for kind, calls in self._calls.items():
                calls.record(recorded.calls[kind], failed)
        histogram.record(signal.seconds, failed)

    def _counted(self, signal: Signal, labels: Attributes) -> None:
        facts, counts = signal.operation.facts, attributes.tokens(signal.outcome)
        if facts.get("stream") and "seconds_to_first" in facts:
            self._first.record(facts["seconds_to_first"], labels)
        for kind, count in counts.items():
            self._used[kind].add(count, labels)
            if kind in self._of_call:
                self._of_call[kind].record(count, labels)

    def _counted_of_old(self, signal: Signal, labels: Attributes) -> None:
        for kind, count in attributes.tokens(signal.outcome).items():
            if kind in ("input", "output"):
                self._tokens.record(count, {**labels, "gen_ai.token.type": kind})


def _labels(signal: Signal) -> Attributes:
    operation = signal.operation
    labels: Attributes = {}
    if agent := attributes.agent_of(operation):
        labels["gen_ai.agent.name"] = agent
    if operation.kind == "model":
        labels["gen_ai.operation.name"] = attributes.operation_name(operation.subject)
        labels["gen_ai.provider.name"] = attributes.provider_of(operation.subject)
        labels["gen_ai.request.model"] = operation.name
        if version := getattr(signal.outcome, "model_version", None):
            labels["gen_ai.response.model"] = version
        labels |= attributes.server_of(operation)
    elif operation.kind == "tool":
        exists = operation.subject is not None  # do not label by invented names: unbounded cardinality
        labels["gen_ai.tool.name"] = operation.name if exists else "(unknown)"
        labels["gen_ai.tool.type"] = attributes.tool_type(operation.subject)
    return labels
