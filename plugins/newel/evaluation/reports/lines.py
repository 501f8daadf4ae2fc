"""JSON lines: one for each unit."""

from __future__ import annotations

import json

from newel.evaluation.runs.report import Report


def write(report: Report) -> str:
    """The report as text."""
    rows = []
    for unit in report.units:
        row = {
            "set": unit.key[0],
            "case": unit.key[1],
            "repeat": unit.key[2],
            "outcome": unit.outcome,
            "error": unit.result.error_message,
            "seconds": unit.accounts.seconds,
            "tokens": unit.accounts.tokens,
            "cost": unit.accounts.cost,
            "tags": list(unit.tags),
            "metrics": {
                one.metric_name: {
                    "score": one.score,
                    "status": one.eval_status.name,
                    "threshold": one.threshold,
                    "explanation": one.details.error or one.details.explanation,
                }
                for one in unit.result.overall_eval_metric_results
            },
        }
        rows.append(json.dumps(row, ensure_ascii=False))
    return "".join(f"{row}\n" for row in rows)
