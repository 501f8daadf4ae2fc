"""Markdown: the figures, then what did not pass."""

from __future__ import annotations

from newel.evaluation.reports.junit import reason
from newel.evaluation.runs.report import Report
from newel.evaluation.runs.statistics import Estimate
from newel.evaluation.runs.summary import summary_of
from newel.evaluation.runs.units import ERROR, FAILED, XPASSED


def write(report: Report) -> str:
    """The report as text."""
    summary = summary_of(report.units)
    lines = [f"# Evaluation {report.run_id}", "", "| set | passed | failed | of these not evaluated | skipped |"]
    lines += ["|---|--:|--:|--:|--:|"]
    lines += [f"| {_cell(s.set_id)} | {s.passed} | {s.failed} | {s.errors} | {s.skipped} |" for s in summary.sets]
    lines += ["", "| | mean | 95 % interval | n |", "|---|--:|---|--:|", _estimate("pass rate", summary.pass_rate)]
    lines += [_estimate(name, one) for name, one in summary.metrics.items()]
    for name, (value, n) in summary.agreement.items():
        lines += ["", f"{name} agrees with people: kappa {value:.3f} (n={n})."]
    if summary.repeats > 1:
        lines += ["", "| k | pass@k | pass^k |", "|--:|--:|--:|"]
        lines += [f"| {k} | {value:.3f} | {summary.pass_hat[k]:.3f} |" for k, value in summary.pass_at.items()]
        lines += ["", f"Flaky: {summary.flaky:.1%} of the cases."]
    cost = f", {summary.cost:.4f} US dollars" if summary.cost is not None else ""
    lines += ["", f"{summary.tokens} tokens{cost}, {summary.seconds:.1f} seconds."]
    failed = [unit for unit in report.units if unit.outcome in (FAILED, ERROR, XPASSED)]
    if failed:
        lines += ["", "| case | outcome | why |", "|---|---|---|"]
        lines += [f"| {_cell('/'.join(map(str, u.key)))} | {u.outcome} | {_cell(reason(u))} |" for u in failed]
    return "\n".join([*lines, ""])


def _estimate(name: str, one: Estimate) -> str:
    interval = f"{one.low:.3f} to {one.high:.3f} ({one.method})" if one.low is not None else ""
    return f"| {_cell(name)} | {one.value:.3f} | {interval} | {one.n} |"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", "<br>")
