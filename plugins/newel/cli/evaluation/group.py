"""`newel eval`: runs cases, and looks at runs."""

from __future__ import annotations

import click

from newel.cli.deferred_group import DeferredGroup
from newel_types import deferred

_COMMANDS = {
    "compare": deferred("newel.cli.evaluation.compare", "command"),
    "metrics": deferred("newel.cli.evaluation.metrics", "command"),
    "report": deferred("newel.cli.evaluation.report", "command"),
    "run": deferred("newel.cli.evaluation.running", "command"),
}


class EvalGroup(DeferredGroup):
    """Its first argument is a sub-command, or the agent of `run`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` before an agent."""
        if args and args[0] not in _COMMANDS and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.command("eval", cls=EvalGroup, deferred=_COMMANDS, no_args_is_help=True)
def evaluation() -> None:
    """Run an agent against eval sets, and compare the results.

    `newel eval AGENT SETS...` is short for `newel eval run AGENT SETS...`, whose --help lists the options.
    """
