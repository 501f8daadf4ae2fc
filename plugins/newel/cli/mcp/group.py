"""`newel mcp`: the group of its commands."""

from __future__ import annotations

import click

from newel.cli.deferred_group import DeferredGroup
from newel_types import deferred

_COMMANDS = {
    "call": deferred("newel.cli.mcp.servers", "call"),
    "inspect": deferred("newel.cli.mcp.servers", "inspect"),
    "list": deferred("newel.cli.mcp.servers", "list_servers"),
    "pin": deferred("newel.cli.mcp.servers", "pin"),
    "serve": deferred("newel.cli.mcp.serving", "command"),
}


@click.command("mcp", cls=DeferredGroup, deferred=_COMMANDS, no_args_is_help=True)
def mcp() -> None:
    """Look at the MCP servers that agents use, and serve an agent to MCP clients."""
