"""CSV: a row for each metric of each turn."""

from __future__ import annotations

import csv
import io

from newel.evaluation.results.detail_tables import COLUMNS, rows_of
from newel.evaluation.results.metric_means import metric_means
from newel.evaluation.runs.report import Report

#: A cell that begins with one of these is a formula to a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(report: Report) -> str:
    """The report as text."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("eval_set_id", "eval_id", "repeat", "outcome", "metric_name", *COLUMNS))
    for unit in report.units:
        names = [one.metric_name for one in unit.result.overall_eval_metric_results]
        for one in metric_means([unit], names):
            for row in rows_of(one):
                writer.writerow((*unit.key, unit.outcome, one.metric_name, *(_plain(cell) for cell in row)))
    return text.getvalue()


def _plain(cell: str) -> str:
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if cell.startswith(_FORMULA) else cell
    return cell
