"""The plugin of evaluation's kinds; it takes part only where something is evaluated."""

from __future__ import annotations

from typing import Any

from newel.evaluation import hookspecs, kinds
from newel_kernel import Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Any]]:
    """Metrics and what stands beside them."""
    return [
        Kind(kinds.Metric, hookspecs.register_metrics),
        Kind(kinds.ArgumentMatcher, hookspecs.register_argument_matchers),
        Kind(kinds.SimulatedUser, hookspecs.register_user_simulators),
        Kind(kinds.ReportFormat, hookspecs.register_report_formats),
        Kind(kinds.PriceTable, hookspecs.register_price_tables),
        Kind(kinds.CaseSource, hookspecs.register_case_sources),
    ]
