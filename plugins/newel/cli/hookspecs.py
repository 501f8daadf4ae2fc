"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.cli.kinds import Command
from newel_kernel import Settings, hookspec


@hookspec
def register_commands(settings: Settings) -> Sequence[Command]:
    """Commands of the command line. Imports and returns a click command.

    >>> def load_command():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_commands(self):
    ...         return [Command(name="greet", load=load_command, help="Say hello.")]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(Command, "greet").name
    'greet'
    """
    return ()
