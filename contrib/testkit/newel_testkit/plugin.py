"""The plugin of the command `newel fake-server`."""

from __future__ import annotations

from newel.cli.kinds import Command
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_commands() -> list[Command]:
    """The command that serves models' protocols."""
    load = deferred("newel_testkit.fake_server", "fake_server")
    return [Command(name="fake-server", load=load, help="Serve models' protocols locally.")]
