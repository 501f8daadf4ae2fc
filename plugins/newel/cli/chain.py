"""`newel chain`: everything that has an order, as it is for an agent."""

from __future__ import annotations

import click

from newel.cli.startup import composition_of
from newel.cli.terminal import show_json, show_table, to_terminal
from newel.files.agent_source import load_source
from newel_compose import Placed, extend
from newel_kernel import BaseAgent, Json, RequestProcessor, ResponseProcessor

_WORDS = {True: "yes", False: "no", None: "always"}


@click.command("chain")
@click.argument("agent")
@click.option("--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's.")
@click.pass_context
def chain(ctx: click.Context, agent: str, distribution: str | None) -> None:
    """Show what AGENT's runs pass, in order: each stage, who brought it, what placed it, and whether it applies.

    These are the chains of requests, responses, tools, models and live sessions, and every other order of the plugins.

    A table on a terminal, else JSON.
    """
    composition = composition_of(ctx, distribution)
    source = load_source(agent, composition)
    composition = extend(composition, source.plugins)
    rows = {name: [_row(one, source.agent) for one in placed] for name, placed in composition.placed.items()}
    if not to_terminal():
        show_json({"agent": source.agent.name, "distribution": composition.distribution.name, "chains": rows})
        return
    for name in filter(rows.get, rows):
        title = f"{name.replace('_', ' ')} of {source.agent.name} (distribution {composition.distribution.name})"
        show_table(
            title,
            ("", "stage", "plugin", "from", "placed by", "applies"),
            [
                [str(index), row["name"], row["plugin"], row["distribution"], row["placed_by"], _WORDS[row["applies"]]]
                for index, row in enumerate(rows[name], 1)
            ],
        )


def _row(one: Placed, agent: BaseAgent) -> Json:
    """One stage; `applies` is None if it does not ask about the agent."""
    # Only request and response processors ask about the agent.
    asks = isinstance(one.stage, (RequestProcessor, ResponseProcessor))
    applies_to = one.stage.applies_to if asks else None
    return {
        "name": one.stage.name,
        "plugin": one.plugin,
        "distribution": one.source,
        "placed_by": one.why,
        "applies": None if applies_to is None else bool(applies_to(agent)),
    }
