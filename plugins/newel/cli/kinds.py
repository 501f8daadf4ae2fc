"""The kind `Command`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from newel_compose import Loader
from newel_kernel import Settings, hookspec


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Loader):
    """A click command of the command line. ``sessions NAME`` as the name puts it below `newel sessions`."""

    help: str = ""


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
