"""`newel mcp`: the group of its commands."""

from __future__ import annotations

import click

from newel_types import deferred

_COMMANDS = {
    "call": deferred("newel.cli.mcp.servers", "call"),
    "inspect": deferred("newel.cli.mcp.servers", "inspect"),
    "list": deferred("newel.cli.mcp.servers", "list_servers"),
    "pin": deferred("newel.cli.mcp.servers", "pin"),
    "serve": deferred("newel.cli.mcp.serving", "command"),
}


class McpGroup(click.Group):
    """Loads the command that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The sub-commands."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A sub-command, loaded."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = _COMMANDS[cmd_name]()
        return command


@click.command("mcp", cls=McpGroup, no_args_is_help=True)
def mcp() -> None:
    """Look at the MCP servers that agents use, and serve an agent to MCP clients."""
