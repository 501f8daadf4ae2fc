"""The plugin of the command `newel sessions import-adk`."""

from __future__ import annotations

from newel.cli.kinds import Command
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_commands() -> list[Command]:
    """The import of a google-adk database's sessions."""
    load = deferred("newel_adk.command", "import_adk")
    return [Command(name="sessions import-adk", load=load, help="Import the sessions of a google-adk database.")]
