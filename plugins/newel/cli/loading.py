"""Commands of plugins, loaded, and the groups that plugins add to."""

from __future__ import annotations

import click

from newel.cli.kinds import Command
from newel.cli.startup import startup_of
from newel.cli.terminal import safe
from newel.events.text import one_line
from newel_compose import describe_error
from newel_kernel import class_name, did_you_mean, is_interrupt
from newel_types import deferred

_missing_package = deferred("newel.cli.known_plugins", "missing_package")


class Refusal(click.ClickException):
    """A command that cannot be carried out as it was given: one line on stderr, status 2."""

    exit_code = 2

    def format_message(self) -> str:
        """The message; it may quote strangers."""
        return safe(self.message)


def loaded(command: Command) -> click.Command:
    """The click command of a plugin's `Command`."""
    try:
        found = command.load()
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise Refusal(one_line(f"the command {command.name!r} cannot be loaded: {describe_error(error)}")) from error
    if not isinstance(found, click.Command):
        raise Refusal(f"the command {command.name!r} is {class_name(found)}, not a click command")
    return found


class OpenGroup(click.Group):
    """A group to which plugins add commands: those whose `Command.name` is this group's name, a space, and theirs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Its commands and those of plugins, sorted."""
        return sorted({*super().list_commands(ctx), *self._added(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; a plugin's is loaded."""
        if (command := super().get_command(ctx, cmd_name)) is not None:
            return command
        added = self._added(ctx).get(cmd_name)
        return loaded(added) if added is not None else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; the error for another name says what is missing, or suggests one."""
        name, names = args[0], self.list_commands(ctx)
        if not name.startswith("-") and name not in names:
            whole = f"{self.name} {name}"
            others = f" (there are: {', '.join(names)})"
            hint = _missing_package()(whole) or did_you_mean(name, names) or others
            raise Refusal(one_line(f"unknown command {whole!r}{hint}"))
        return super().resolve_command(ctx, args)

    def _added(self, ctx: click.Context) -> dict[str, Command]:
        composition = startup_of(ctx).composition
        commands = composition.registry.all(Command) if composition is not None else ()
        prefix = f"{self.name} "
        return {one.name.removeprefix(prefix): one for one in commands if one.name.startswith(prefix)}
