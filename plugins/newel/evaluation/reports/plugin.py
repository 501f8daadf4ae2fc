"""The plugin of the built-in report formats; a format's writer loads when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from newel.evaluation.kinds import ReportFormat
from newel_kernel import hookimpl

if TYPE_CHECKING:
    from newel.evaluation.runs.report import Report


def _writer(name: str) -> Callable[[Report], str]:
    def write(report: Report) -> str:
        text: str = import_module(f"newel.evaluation.reports.{name}").write(report)
        return text

    return write


@hookimpl
def register_report_formats() -> list[ReportFormat]:
    """html, junit, markdown, csv, jsonl."""
    return [
        ReportFormat(name="html", write=_writer("html"), suffix=".html", description="One page to open from disk."),
        ReportFormat(name="junit", write=_writer("junit"), suffix=".xml", description="JUnit XML, for CI."),
        ReportFormat(name="markdown", write=_writer("markdown"), suffix=".md", description="A summary to paste."),
        ReportFormat(name="csv", write=_writer("table"), suffix=".csv", description="A row for each metric and turn."),
        ReportFormat(name="jsonl", write=_writer("lines"), suffix=".cases.jsonl", description="A line for each case."),
    ]
