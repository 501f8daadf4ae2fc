"""`newel graph`: what an agent is made of, as a drawing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from newel.cli.startup import composition_of
from newel.cli.whole_file import write_whole
from newel.drawing.description import picture_of
from newel.drawing.dot import dot
from newel.drawing.mermaid import mermaid
from newel.drawing.picture import Picture
from newel.drawing.svg import svg
from newel.files.agent_source import load_source
from newel_kernel import ConfigurationError

_WRITERS: dict[str, Callable[[Picture], str]] = {"svg": svg, "mermaid": mermaid, "dot": dot}
_SUFFIXES = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}


@click.command("graph")
@click.argument("agent")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_WRITERS)),
    help="The format; by default from FILE's suffix, else mermaid.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write; by default (or -) to stdout.")
@click.option("--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's.")
@click.pass_context
def graph(ctx: click.Context, agent: str, form: str | None, output: str | None, distribution: str | None) -> None:
    """Draw AGENT: its agents, tools and toolsets, and the edges and routes of its workflows.

    Nothing runs and no toolset is asked. svg needs the extra `graph`; mermaid and dot need nothing.
    """
    file = Path(output) if output not in (None, "-") else None
    write = _WRITERS[form or _form_of(file)]
    text = write(picture_of(load_source(agent, composition_of(ctx, distribution)).agent))
    if file is None:
        click.echo(text.encode("utf-8"), nl=False)
    else:
        write_whole(text.encode(), file, "name another file with -o")


def _form_of(file: Path | None) -> str:
    if file is None:
        return "mermaid"
    form = _SUFFIXES.get(file.suffix.lower())
    if form is None:
        raise ConfigurationError(
            f"{str(file)!r} does not end in {', '.join(_SUFFIXES)}: say which --format to write ({', '.join(_WRITERS)})"
        )
    return form
