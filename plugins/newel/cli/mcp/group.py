"""`newel mcp`: the group of its commands."""

from __future__ import annotations

import click

from newel_types import deferred

_COMMANDS = {
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
    """Serve an agent to MCP clients."""
