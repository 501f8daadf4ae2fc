"""The plugin of evaluation's kinds; it takes part only if something is evaluated."""

from __future__ import annotations

from typing import Any

from newel.evaluation import kinds
from newel_kernel import Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Any]]:
    """Metrics and the kinds around them."""
    return [
        Kind(kinds.Metric, kinds.register_metrics),
        Kind(kinds.JudgeBackend, kinds.register_judge_backends),
        Kind(kinds.EvalStorage, kinds.register_eval_storages),
        Kind(kinds.ArgumentMatcher, kinds.register_argument_matchers),
        Kind(kinds.SimulatedUser, kinds.register_user_simulators),
        Kind(kinds.ReportFormat, kinds.register_report_formats),
        Kind(kinds.PriceTable, kinds.register_price_tables, order="price_tables", open_ended=True),
        Kind(kinds.CaseSource, kinds.register_case_sources, order="case_sources", open_ended=True),
    ]
