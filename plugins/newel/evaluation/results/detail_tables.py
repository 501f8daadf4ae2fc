"""The turns behind a result, as tables on the terminal and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from newel.evaluation.cases.eval_case import Invocation, get_all_tool_calls
from newel.evaluation.metrics.scoring import answer_of, text_of
from newel.evaluation.metrics.trajectory.calls import shown
from newel.evaluation.results.metric_means import MetricMean
from newel.evaluation.storage.files import write_whole

COLUMNS = (
    "eval_status",
    "score",
    "threshold",
    "prompt",
    "expected_response",
    "actual_response",
    "expected_tool_calls",
    "actual_tool_calls",
)


def rows_of(one: MetricMean) -> list[tuple[str, ...]]:
    """A row for each turn."""
    return [
        (
            result.eval_status.name,
            str(result.score),
            str(result.threshold),
            text_of(turn.actual_invocation.user_content),
            answer_of(turn.expected_invocation) if turn.expected_invocation else "",
            answer_of(turn.actual_invocation),
            _calls(turn.expected_invocation),
            _calls(turn.actual_invocation),
        )
        for turn, result in one.turns
    ]


def _calls(invocation: Invocation | None) -> str:
    return "\n".join(shown(c) for c in get_all_tool_calls(invocation.intermediate_data)) if invocation else ""


def print_details(means: Sequence[MetricMean]) -> None:
    """A line and a table for each metric of each case."""
    console = Console()
    for one in means:
        console.print(
            f"Summary: `{one.status.name}` for Metric: `{one.metric_name}` of `{one.case_id}`. Expected threshold: "
            f"`{one.threshold}`, actual value: `{one.score}`.",
            markup=False,
        )
        table = Table(*COLUMNS, show_lines=True)
        for row in rows_of(one):
            table.add_row(*(cell.replace("[", "\\[") for cell in row))
        console.print(table)


def write_csv(path: Path, means: Sequence[MetricMean]) -> None:
    """The rows of all metrics in one file."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("eval_id", "metric_name", *COLUMNS))
    for one in means:
        writer.writerows((one.case_id, one.metric_name, *row) for row in rows_of(one))
    write_whole(path, text.getvalue())
