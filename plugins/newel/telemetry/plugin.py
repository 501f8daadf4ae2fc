"""The plugin of telemetry: OpenTelemetry spans, metrics and events of invocations, agents, model calls and tool calls.

It records as soon as the application has configured a tracer or meter provider; until then nothing
is recorded, at no cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydantic import BaseModel

from newel.telemetry.settings import Settings
from newel.telemetry.watch import Watch, note_failure
from newel_kernel import Observer, hookimpl

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


class TelemetryPlugin:
    """Records to the providers that it is made with, by default to the application's: ``Runner(plugins=[...])``."""

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        name: str = "open_telemetry",
        **settings: object,
    ) -> None:
        self.name = name
        self._watch = Watch(Settings(**settings), tracer_provider, meter_provider, logger_provider)

    @hookimpl
    def register_observers(self) -> list[Observer]:
        """The observer that records."""
        return [self._watch.as_observer(self.name)]

    @hookimpl(tryfirst=True)
    def on_tool_error_callback(self, error: Exception) -> None:
        """A tool's failure, which another hook may answer."""
        note_failure(error)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_observers(settings: Mapping[str, Settings]) -> list[Observer]:
    """The observer that records to the application's providers; none if OpenTelemetry is not installed."""
    return [] if why_off() else [Watch(settings["telemetry"]).as_observer("telemetry")]


@hookimpl(tryfirst=True)
def on_tool_error_callback(error: Exception) -> None:
    """A tool's failure, which another hook may answer."""
    note_failure(error)


def why_off() -> str | None:
    """Why nothing is ever recorded here, for `newel plugins`."""
    try:
        spec = find_spec("opentelemetry.trace")
    except ModuleNotFoundError:
        spec = None
    return None if spec else "opentelemetry-api is not installed (pip install 'newel[telemetry]')"
