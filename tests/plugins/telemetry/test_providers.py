"""Who records: the application's providers once there are any, those that are given, or nobody, at no cost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from newel.agents import LlmAgent
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.telemetry import TelemetryPlugin
from newel.telemetry import plugin as telemetry
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import ConfigurationError, Observer

TURN = """
import asyncio, sys
from newel.agents import LlmAgent
from newel.runners import InMemoryRunner
from newel.testing import ScriptedModel

runner = InMemoryRunner(agent=LlmAgent(name="waiter", model=ScriptedModel(["tea", "more tea"])), app_name="tearoom")

async def turn():
    async for event in runner.run_async(user_id="ada", session_id="s1", new_message="hi"):
        pass
"""


def python(code: str, folder: Path) -> list[str]:
    script = dedent(TURN) + dedent(code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_nothing_of_opentelemetry_is_imported_where_the_application_does_not(tmp_path: Path) -> None:
    lines = python("asyncio.run(turn()); print([m for m in sys.modules if m.startswith('opentelemetry.')])", tmp_path)
    assert lines == ["[]"]


def test_the_applications_provider_records_from_the_turn_after_it_was_configured(tmp_path: Path) -> None:
    lines = python(
        """
        asyncio.run(turn())
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        exporter, provider, reader = InMemorySpanExporter(), TracerProvider(), InMemoryMetricReader()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        metrics.set_meter_provider(MeterProvider([reader]))
        asyncio.run(turn())
        print([span.name for span in exporter.get_finished_spans()])
        found = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
        print(sorted(metric.name for metric in found))
        """,
        tmp_path,
    )
    assert lines == [
        "['chat scripted', 'invoke_agent waiter', 'invocation']",
        "['gen_ai.client.operation.duration', 'newel.invoke_agent.duration',"
        " 'newel.invoke_agent.inference_calls', 'newel.invoke_agent.tool_calls']",
    ]


def test_the_api_alone_records_nothing(tmp_path: Path) -> None:
    lines = python(
        """
        from opentelemetry import metrics, trace
        from newel_kernel import Operation
        begun = []
        Operation.stream = lambda self, items: begun.append(self) or items
        asyncio.run(turn())
        print(begun, type(trace.get_tracer_provider()).__name__)
        """,
        tmp_path,
    )
    assert lines == ["[] ProxyTracerProvider"]


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_without_the_package_everything_composes_and_the_plugin_says_what_is_missing(
    tmp_path: Path, distribution: str
) -> None:
    lines = python(
        f"""
        import importlib.abc, json
        class Absent(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "opentelemetry":
                    raise ModuleNotFoundError(name)
        sys.meta_path.insert(0, Absent())
        asyncio.run(turn())
        from newel.cli.main import main
        sys.argv = ["newel", "plugins", "--distribution", "{distribution}", "why", "telemetry"]
        main()
        """,
        tmp_path,
    )
    output = "\n".join(lines)
    assert '"off"' in output
    assert "opentelemetry-api is not installed (pip install 'newel[telemetry]')" in output


def test_with_the_package_the_plugin_is_on() -> None:
    assert telemetry.why_off() is None
    assert compose("standard").registry.find(Observer, "telemetry").enabled is not None
    assert not compose("minimal").observers


def test_settings_are_those_of_the_distribution_and_a_typo_is_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("extends: adk\nsettings:\n  telemetry:\n    capture_content: true\n")
    bad.write_text("extends: adk\nsettings:\n  telemetry:\n    capture_contents: true\n")
    assert compose(good).settings["telemetry"].in_spans()  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="capture_contents"):
        compose(bad)


def record(sampler: Any = None, **providers: Any) -> list[str]:
    """The names of the spans of a turn."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler) if sampler else TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    plugin = TelemetryPlugin(**(providers or {"tracer_provider": provider}))
    runner = Runner(
        app_name="tearoom",
        agent=LlmAgent(name="waiter", model=ScriptedModel(["tea"])),
        plugins=[plugin],
        session_service=InMemorySessionService(),
        auto_create_session=True,
        composition=compose("adk"),
    )

    async def turn() -> list[str]:
        running = runner.run_async(user_id="ada", session_id="s1", new_message="hi")
        return [event.author async for event in running]

    assert asyncio.run(turn()) == ["waiter"]
    return [span.name for span in exporter.get_finished_spans()]


def test_what_is_not_sampled_runs_all_the_same() -> None:
    assert record() == ["chat scripted", "invoke_agent waiter", "invocation"]
    assert record(ALWAYS_OFF) == []


def test_metrics_alone_can_be_recorded() -> None:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    assert record(meter_provider=MeterProvider([reader])) == []
    data = reader.get_metrics_data()
    assert data is not None
    assert data.resource_metrics
