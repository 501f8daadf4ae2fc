"""JUnit XML: a test suite for each eval set, a test case for each unit."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from newel.evaluation.runs.report import Report
from newel.evaluation.runs.units import ERROR, FAILED, SKIPPED, XFAILED, UnitResult

#: The characters that XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(report: Report) -> str:
    """The report as text."""
    by_set: dict[str, list[UnitResult]] = {}
    for unit in report.units:
        by_set.setdefault(unit.key[0], []).append(unit)
    suites = [_suite(name, units) for name, units in by_set.items()]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>", ""])


def _suite(name: str, units: list[UnitResult]) -> str:
    counts = {outcome: sum(unit.outcome == outcome for unit in units) for outcome in (FAILED, ERROR, SKIPPED, XFAILED)}
    seconds = sum(unit.accounts.seconds for unit in units)
    head = (
        f'<testsuite name={_quoted(name)} tests="{len(units)}" failures="{counts[FAILED]}" errors="{counts[ERROR]}" '
        f'skipped="{counts[SKIPPED] + counts[XFAILED]}" time="{seconds:.3f}">'
    )
    return "\n".join([head, *(_case(unit) for unit in units), "</testsuite>"])


def _case(unit: UnitResult) -> str:
    name = unit.key[1] + (f" #{unit.key[2] + 1}" if unit.key[2] else "")
    head = f'<testcase classname={_quoted(unit.key[0])} name={_quoted(name)} time="{unit.accounts.seconds:.3f}"'
    why = reason(unit)
    if unit.outcome in (FAILED, ERROR):
        tag = "failure" if unit.outcome == FAILED else "error"
        first = why.splitlines()[0] if why else unit.outcome
        return f"{head}><{tag} message={_quoted(first)}>{escape(_clean(why))}</{tag}></testcase>"
    if unit.outcome in (SKIPPED, XFAILED):
        return f"{head}><skipped message={_quoted(why or unit.outcome)}/></testcase>"
    return f"{head}/>"


def reason(unit: UnitResult) -> str:
    """Why a unit did not pass, a line for each metric."""
    lines = [unit.result.error_message] if unit.result.error_message else []
    for one in unit.result.overall_eval_metric_results:
        why = one.details.error or one.details.explanation
        if one.eval_status.name in ("FAILED", "NOT_EVALUATED"):
            lines.append(f"{one.metric_name}: {one.score} (threshold {one.threshold}){f': {why}' if why else ''}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
