"""Spans and metrics of what agents do, for OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.telemetry.plugin import TelemetryPlugin as TelemetryPlugin

__getattr__, __dir__ = lazy_exports(__name__, {"TelemetryPlugin": "newel.telemetry.plugin"})
