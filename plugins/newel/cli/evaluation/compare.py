"""`newel eval compare`: two runs, case by case."""

from __future__ import annotations

from pathlib import Path

import click

from newel.evaluation.runs.comparison import Change, Comparison, compare
from newel.evaluation.runs.stored import stored_units

REGRESSED = 1


@click.command("compare")
@click.argument("before", type=click.Path(exists=True, dir_okay=False))
@click.argument("after", type=click.Path(exists=True, dir_okay=False))
@click.option("--max-drop", type=float, help="Fail if a mean falls by more, whether by chance or not.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of the bootstrap.")
@click.pass_context
def command(ctx: click.Context, before: str, after: str, max_drop: float | None, seed: int) -> None:
    """Compare the runs BEFORE and AFTER (run files or result files).

    Cases are paired by set and id. Pass and fail: McNemar's exact test; scores, cost, time: a paired bootstrap; p
    values are corrected by Holm's method. Status 1: something became significantly worse, or fell by more than
    --max-drop.
    """
    comparison = compare(list(stored_units(Path(before))), list(stored_units(Path(after))), seed)
    click.echo(f"{comparison.paired} cases in both runs")
    for change in comparison.changes:
        click.echo(_line(change))
    for label, cases in (
        ("regressions", comparison.regressions),
        ("fixes", comparison.fixes),
        ("new", comparison.new),
        ("gone", comparison.gone),
    ):
        if cases:
            click.echo(f"{label}: {', '.join('/'.join(case) for case in cases)}")
    click.echo(_verdict(comparison, max_drop))
    ctx.exit(REGRESSED if comparison.failed(max_drop) else 0)


def _line(change: Change) -> str:
    difference = change.difference
    interval = f" [{difference.low:+.4g}, {difference.high:+.4g}]" if difference.low is not None else ""
    mark = "  REGRESSED" if change.regressed else ""
    return (
        f"{change.name}: {change.before:.4g} -> {change.after:.4g} ({difference.value:+.4g}{interval}, "
        f"p={change.p:.3g}, Holm {change.corrected:.3g}, n={difference.n}){mark}"
    )


def _verdict(comparison: Comparison, max_drop: float | None) -> str:
    if not comparison.failed(max_drop):
        return "no significant regression"
    names = [change.name for change in comparison.changes if change.regressed]
    return f"regressed: {', '.join(names)}" if names else f"a mean fell by more than {max_drop:g}"
