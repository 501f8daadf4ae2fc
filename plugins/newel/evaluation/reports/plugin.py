"""The plugin of the built-in report formats; a format's writer loads when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from newel.evaluation.kinds import ReportFormat
from newel_kernel import hookimpl
from newel_types import deferred

if TYPE_CHECKING:
    from newel.evaluation.runs.report import Report


def _writer(load: Callable[[], Callable[[Report], str]]) -> Callable[[Report], str]:
    return lambda report: load()(report)


@hookimpl
def register_report_formats() -> list[ReportFormat]:
    """html, junit, markdown, csv, jsonl."""
    return [
        ReportFormat(
            name="html",
            write=_writer(deferred("newel.evaluation.reports.html", "write")),
            suffix=".html",
            description="One page to open from disk.",
        ),
        ReportFormat(
            name="junit",
            write=_writer(deferred("newel.evaluation.reports.junit", "write")),
            suffix=".xml",
            description="JUnit XML, for CI.",
        ),
        ReportFormat(
            name="markdown",
            write=_writer(deferred("newel.evaluation.reports.markdown", "write")),
            suffix=".md",
            description="A summary to paste.",
        ),
        ReportFormat(
            name="csv",
            write=_writer(deferred("newel.evaluation.reports.table", "write")),
            suffix=".csv",
            description="A row for each metric and turn.",
        ),
        ReportFormat(
            name="jsonl",
            write=_writer(deferred("newel.evaluation.reports.lines", "write")),
            suffix=".cases.jsonl",
            description="A line for each case.",
        ),
    ]
