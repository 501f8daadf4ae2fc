"""DeferredGroup: a group that loads only the command that is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click


class DeferredGroup(click.Group):
    """Its commands by name, each with a function that imports and returns it."""

    def __init__(self, *args: Any, deferred: Mapping[str, Callable[[], Any]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.deferred = deferred

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, sorted."""
        return sorted(self.deferred)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded."""
        if cmd_name not in self.deferred:
            return None
        command: click.Command = self.deferred[cmd_name]()
        return command
