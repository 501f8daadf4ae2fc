"""Runs with an in-memory exporter of the real SDK; the spans as a tree."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.telemetry import TelemetryPlugin
from newel_compose import compose
from newel_kernel import Event

Tree = list[Any]


class Recording:
    """What one provider recorded."""

    def __init__(self, sampler: Any = None) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(**({"sampler": sampler} if sampler else {}))
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader])

    def plugin(self, **settings: Any) -> TelemetryPlugin:
        """A plugin that records here."""
        return TelemetryPlugin(tracer_provider=self.provider, meter_provider=self.meters, **settings)

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that ended, by their start."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of a name."""
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The one span of a name."""
        (span,) = self.named(name)
        return span

    def tree(self) -> Tree:
        """The spans as nested lists: a name, or [name, child, ...]."""
        ids = {span.context.span_id for span in self.spans}

        def below(parent: int | None) -> Tree:
            branches = []
            for span in self.spans:
                above = span.parent.span_id if span.parent is not None else None
                if (above if above in ids else None) == parent:
                    children = below(span.context.span_id)
                    branches.append([span.name, *children] if children else span.name)
            return branches

        return below(None)

    def points(self, metric: str) -> list[Any]:
        """The data points of a metric."""
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for one in scope.metrics
            if one.name == metric
            for point in one.data.data_points
        ]


@pytest.fixture
def recording() -> Iterator[Recording]:
    recorder = Recording()
    yield recorder
    recorder.provider.shutdown()
    recorder.meters.shutdown()


@pytest.fixture
def runner(recording: Recording) -> Callable[..., Runner]:
    """Makes a runner of an agent that records."""

    def make(agent: Any, *, plugins: Sequence[Any] = (), distribution: str = "adk", **settings: Any) -> Runner:
        return Runner(
            app_name="tearoom",
            agent=agent,
            plugins=[recording.plugin(**settings), *plugins],
            session_service=InMemorySessionService(),
            auto_create_session=True,
            composition=compose(distribution),
        )

    return make


@pytest.fixture
def play(runner: Callable[..., Runner]) -> Callable[..., list[Event]]:
    """Runs one turn of an agent, and gives its events."""

    def send(agent: Any, *, run_config: Any = None, **fields: Any) -> list[Event]:
        async def turn() -> list[Event]:
            running = runner(agent, **fields).run_async(
                user_id="ada", session_id="s1", new_message="tea", run_config=run_config
            )
            async with aclosing(running) as events:
                return [event async for event in events]

        return asyncio.run(turn())

    return send
