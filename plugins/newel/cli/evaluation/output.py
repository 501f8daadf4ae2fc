"""The output of `newel eval`: progress, the summary, and the turns behind it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from newel.evaluation.results.detail_tables import print_details
from newel.evaluation.results.metric_means import metric_means
from newel.evaluation.runs.evaluation import EvaluationRun
from newel.evaluation.runs.summary import SetSummary, Summary, summary_of
from newel.evaluation.runs.units import ERROR, FAILED, UnitResult

#: The status of a command that was interrupted.
INTERRUPTED = 130
OnResult = Callable[[UnitResult], None]


class _Bar(AbstractContextManager[OnResult]):
    def __init__(self, total: int) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("cases", total=total)

    def __enter__(self) -> OnResult:
        self._progress.start()
        return self._next

    def _next(self, unit: UnitResult) -> None:
        self._progress.update(self._task, advance=1, description=unit.key[1][:40])

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def progress(total: int, on_terminal: bool) -> AbstractContextManager[OnResult]:
    """A bar on a terminal, a line for each case elsewhere."""
    return _Bar(total) if on_terminal else nullcontext(_line)


def _line(unit: UnitResult) -> None:
    repeat = f" #{unit.key[2] + 1}" if unit.key[2] else ""
    click.echo(f"{unit.key[0]}/{unit.key[1]}{repeat}: {unit.outcome}", err=True)


def print_summary(run: EvaluationRun) -> None:
    """Print the counts of each set, then the measurements."""
    summary = summary_of(run.units)
    click.echo("*" * 69)
    click.echo("Eval Run Summary")
    for one in summary.sets:
        _print_counts(one)
    _print_measures(summary)
    for unit in run.units:
        if unit.outcome in (FAILED, ERROR):
            click.echo(_why(unit))


def _print_counts(one: SetSummary) -> None:
    click.echo(f"{one.set_id}:\n  Tests passed: {one.passed}\n  Tests failed: {one.failed}")
    for label, count in (
        ("Could not be evaluated", one.errors),
        ("Skipped", one.skipped),
        ("Failed as expected", one.xfailed),
        ("Passed unexpectedly", one.xpassed),
    ):
        if count:
            click.echo(f"  {label}: {count}")


def _print_measures(summary: Summary) -> None:
    for name, estimate in summary.metrics.items():
        interval = f" [{estimate.low:.3f}, {estimate.high:.3f}]" if estimate.low is not None else ""
        click.echo(f"{name}: {estimate.value:.3f}{interval} (n={estimate.n})")
    for name, (value, n) in summary.agreement.items():
        click.echo(f"{name} agrees with people: kappa {value:.3f} (n={n})")
    if summary.repeats > 1:
        for k, value in summary.pass_at.items():
            click.echo(f"pass@{k}: {value:.3f}  pass^{k}: {summary.pass_hat[k]:.3f}")
        click.echo(f"flaky cases: {summary.flaky:.1%}")
    if summary.tokens:
        cost = f", {summary.cost:.4f} US dollars" if summary.cost is not None else ""
        click.echo(f"tokens: {summary.tokens}{cost}")


def _why(unit: UnitResult) -> str:
    """One line for a case that did not pass: the first metric that says why."""
    result = unit.result
    reasons = [
        f"{one.metric_name} {one.score if one.score is not None else 'has no score'}"
        + (f" (threshold {one.threshold})" if one.threshold is not None else "")
        + (f": {one.details.error or one.details.explanation}" if one.details.error or one.details.explanation else "")
        for one in result.overall_eval_metric_results
        if one.eval_status.name == "FAILED" or one.details.error
    ]
    text = result.error_message or "; ".join(reasons) or "nothing could be evaluated"
    return f"{unit.outcome.upper()} {unit.key[0]}/{unit.key[1]}: {text}"


def print_details_of(run: EvaluationRun) -> None:
    """Print every case with its metrics and turns."""
    for unit in run.whole_units():
        click.echo("*" * 69)
        click.echo(f"Eval Set Id: {unit.key[0]}\nEval Id: {unit.key[1]}")
        click.echo(f"Overall Eval Status: {unit.result.final_eval_status.name}")
        for one in unit.result.overall_eval_metric_results:
            click.echo(
                f"Metric: {one.metric_name}, Status: {one.eval_status.name}, Score: {one.score}, "
                f"Threshold: {one.threshold}"
            )
        judged = [
            m.metric_name for m in unit.result.overall_eval_metric_results if m.eval_status.name != "INFORMATIONAL"
        ]
        print_details(metric_means([unit], judged))


def statuses(units: Sequence[UnitResult]) -> set[str]:
    """The outcomes that a run has."""
    return {unit.outcome for unit in units}


def say_how_to_resume(path: Path, why: str) -> None:
    """Say where the finished work of this command is, and which command continues it."""
    click.echo(f"{why}; everything finished so far is in {path}", err=True)
    click.echo(f"continue with: newel {shlex.join([*_without_resume(sys.argv[1:]), f'--resume={path}'])}", err=True)


def _without_resume(words: Sequence[str]) -> list[str]:
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if "--resume" not in (before, word) and not word.startswith("--resume=")
    ]
