"""`newel eval metrics`: what can be measured."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from newel.evaluation.kinds import Metric
from newel.evaluation.plugins import plugin_registry


@click.command("metrics")
def command() -> None:
    """List the metrics: name, range, requirements, package and plugin."""
    table = Table("metric", "range", "needs", "from", "plugin", "what it measures")
    for name, owned in sorted(plugin_registry().owned(Metric).items()):
        metric = owned.item
        assert isinstance(metric, Metric)
        table.add_row(name, _range(metric), _needs(metric), owned.source, owned.plugin, metric.description)
    Console(width=None if Console().is_terminal else 160).print(table)


def _range(metric: Metric) -> str:
    if metric.informational:
        return "reports"
    return f"{metric.interval[0]:g} to {metric.interval[1]:g}" if metric.interval is not None else "any"


def _needs(metric: Metric) -> str:
    needs = [word for word, needed in (("reference", metric.needs_reference), ("judge", metric.needs_judge)) if needed]
    return ", ".join(needs) or "nothing"
