"""`newel schema`: what agent and app files may hold, for editors."""

from __future__ import annotations

import click

from newel.cli.startup import composition_of
from newel.cli.terminal import show_json
from newel.files import agent_schema, app_schema, file_schema

_SCHEMAS = {"any": file_schema, "agent": agent_schema, "app": app_schema}


@click.command("schema")
@click.option(
    "--kind", type=click.Choice(list(_SCHEMAS)), default="any", show_default=True, help="Which files to describe."
)
@click.option("--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's.")
@click.pass_context
def schema(ctx: click.Context, kind: str, distribution: str | None) -> None:
    """Print the JSON schema (draft 2020-12) of agent and app files, with the installed tools and agent types.

    Save it, and begin a file with `# yaml-language-server: $schema=FILE`: the editor completes and checks it.
    """
    show_json(_SCHEMAS[kind](composition_of(ctx, distribution)))
