"""`newel eval report`: a stored run as a page, a table, or a file for CI."""

from __future__ import annotations

from pathlib import Path

import click

from newel.evaluation.kinds import ReportFormat
from newel.evaluation.plugins import plugin_registry
from newel.evaluation.runs.report import Report
from newel.evaluation.runs.run_file import SUFFIX, records
from newel.evaluation.runs.stored import stored_units
from newel.evaluation.storage.files import write_whole
from newel_kernel import ConfigurationError

_SHORT = ("html", "junit", "markdown", "csv", "jsonl")


@click.command("report")
@click.argument("run", type=click.Path(exists=True, dir_okay=False))
@click.option("--html", "html", is_flag=True, help="One page that opens from disk.")
@click.option("--junit", "junit", is_flag=True, help="JUnit XML.")
@click.option("--markdown", "markdown", is_flag=True, help="A summary.")
@click.option("--csv", "csv", is_flag=True, help="A row for each metric and turn.")
@click.option("--jsonl", "jsonl", is_flag=True, help="A line for each case.")
@click.option("--format", "more", multiple=True, metavar="NAME", help="A format of a plugin.")
@click.option(
    "-o", "--output", metavar="FILE", help="The output file, or `-` for stdout; by default next to the run file."
)
def command(run: str, more: tuple[str, ...], output: str | None, **short: bool) -> None:
    """Write the stored RUN (a run file or a result file) in one or more formats."""
    names = [*(name for name in _SHORT if short[name]), *more]
    if not names:
        raise ConfigurationError("name a format: --html, --junit, --markdown, --csv, --jsonl or --format NAME")
    if output is not None and len(names) > 1:
        raise ConfigurationError("--output takes one format; leave it out, and each gets a file next to the run file")
    path = Path(run)
    report = read_report(path)
    for name in names:
        report_format = plugin_registry().find(ReportFormat, name)
        text = report_format.write(report)
        if output == "-":
            click.echo(text, nl=False)
            continue
        to = Path(output) if output is not None else path.with_name(_stem(path) + report_format.suffix)
        write_whole(to, text)
        click.echo(str(to))


def _stem(path: Path) -> str:
    return path.name.removesuffix(SUFFIX).removesuffix(".evalset_result.json")


def read_report(path: Path) -> Report:
    """The report of a stored run, its units by set, case and repeat in the order of the sets."""
    units = list(stored_units(path))
    header = next(records(path))[2] if path.name.endswith(SUFFIX) else {}
    order = {name: number for number, name in enumerate(header.get("order", ()))}
    units.sort(key=lambda unit: (order.get(f"{unit.key[0]}/{unit.key[1]}", len(order)), unit.key[2]))
    return Report(header.get("run_id", _stem(path)), units, header)
