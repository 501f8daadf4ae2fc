"""HTML: one page that needs nothing else, opened from disk."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from newel.evaluation.cases.eval_case import Invocation, InvocationEvents, get_all_tool_calls
from newel.evaluation.inference.turn_recording import Span
from newel.evaluation.metrics.eval_config import EFFICIENCY
from newel.evaluation.metrics.eval_metrics import EvalMetricResult, EvalMetricResultPerInvocation
from newel.evaluation.metrics.scoring import answer_of, text_of
from newel.evaluation.metrics.trajectory.calls import shown
from newel.evaluation.runs.report import Report
from newel.evaluation.runs.statistics import Estimate
from newel.evaluation.runs.summary import summary_of
from newel.evaluation.runs.units import UnitResult

_TEMPLATE = "page.html"


def write(report: Report) -> str:
    """The report as text."""
    data = json.dumps(_data(report), ensure_ascii=False, default=str)
    # Only these characters could end a script element or begin a comment in it.
    data = data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    page = (files("newel.evaluation.reports") / _TEMPLATE).read_text(encoding="utf-8")
    return page.replace("/*DATA*/null", data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _data(report: Report) -> dict[str, Any]:
    summary = summary_of(report.units)
    return {
        "run": report.run_id,
        "sets": [
            {"id": s.set_id, "passed": s.passed, "failed": s.failed, "errors": s.errors, "skipped": s.skipped}
            for s in summary.sets
        ],
        "estimates": [_estimate("pass rate", summary.pass_rate)]
        + [_estimate(name, one) for name, one in summary.metrics.items()],
        "repeats": summary.repeats,
        "passAt": [[k, value, summary.pass_hat[k]] for k, value in summary.pass_at.items()],
        "flaky": summary.flaky,
        "tokens": summary.tokens,
        "cost": summary.cost,
        "seconds": summary.seconds,
        "units": [_unit(unit) for unit in report.units],
    }


def _estimate(name: str, one: Estimate) -> dict[str, Any]:
    return {"name": name, "value": one.value, "low": one.low, "high": one.high, "n": one.n, "method": one.method}


def _unit(unit: UnitResult) -> dict[str, Any]:
    result = unit.result
    return {
        "set": unit.key[0],
        "case": unit.key[1],
        "repeat": unit.key[2],
        "outcome": unit.outcome,
        "error": result.error_message,
        "tags": list(unit.tags),
        "seconds": unit.accounts.seconds,
        "tokens": unit.accounts.tokens,
        "cost": unit.accounts.cost,
        "session": result.session_id,
        # An efficiency metric without a score says nothing: no model reported its usage.
        "metrics": [
            _metric(one)
            for one in result.overall_eval_metric_results
            if one.score is not None or one.details.error is not None or one.metric_name not in EFFICIENCY
        ],
        "turns": [
            _turn(turn) | {"spans": [[s.kind, s.name, s.start, s.seconds] for s in _spans(unit, number)]}
            for number, turn in enumerate(result.eval_metric_result_per_invocation)
        ],
    }


def _spans(unit: UnitResult, turn: int) -> list[Span]:
    return unit.accounts.spans[turn] if turn < len(unit.accounts.spans) else []


def _metric(one: EvalMetricResult) -> dict[str, Any]:
    return {
        "name": one.metric_name,
        "score": one.score,
        "status": one.eval_status.name,
        "threshold": one.threshold,
        "why": one.details.error or one.details.explanation,
        "rubrics": [[r.rubric_id, r.score, r.rationale] for r in one.details.rubric_scores or ()],
    }


def _turn(turn: EvalMetricResultPerInvocation) -> dict[str, Any]:
    actual, expected = turn.actual_invocation, turn.expected_invocation
    return {
        "user": text_of(actual.user_content),
        "actual": answer_of(actual),
        "expected": answer_of(expected) if expected is not None else None,
        "expectedCalls": _calls(expected),
        "steps": _steps(actual),
        "metrics": [_metric(one) for one in turn.eval_metric_results],
        "seconds": actual.duration,
        "model": actual.model_duration,
        "tool": actual.tool_duration,
    }


def _calls(invocation: Invocation | None) -> list[str]:
    return [shown(call) for call in get_all_tool_calls(invocation.intermediate_data)] if invocation else []


def _steps(turn: Invocation) -> list[dict[str, Any]]:
    """What happened, in order, for the waterfall: the author, the kind, the text, the tokens."""
    data = turn.intermediate_data
    if not isinstance(data, InvocationEvents):
        return [{"author": "", "kind": "call", "text": call} for call in _calls(turn)]
    steps: list[dict[str, Any]] = []
    for event in data.invocation_events:
        tokens = event.usage_metadata.total_token_count if event.usage_metadata is not None else None
        before = len(steps)
        for part in event.content.parts or () if event.content is not None else ():
            if part.function_call is not None:
                steps.append({"author": event.author, "kind": "call", "text": shown(part.function_call)})
            elif part.function_response is not None:
                response = part.function_response
                text = f"{response.name}: {json.dumps(response.response, ensure_ascii=False, default=str)}"
                steps.append({"author": event.author, "kind": "result", "text": text})
            elif part.text:
                kind = "thought" if part.thought else "text"
                steps.append({"author": event.author, "kind": kind, "text": part.text})
        if len(steps) == before and (tokens or event.model_version):
            steps.append({"author": event.author, "kind": "answer", "text": ""})
        if tokens and len(steps) > before:
            steps[before]["tokens"] = tokens
    return steps
