"""The command line: a group whose commands are those of the composed plugins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from newel.cli.kinds import Command
from newel.cli.plugin import COMMANDS
from newel.cli.startup import Startup, startup_of
from newel.cli.terminal import lines_of
from newel.events.text import one_line
from newel_kernel import NewelError, did_you_mean


class Refusal(click.ClickException):
    """A command that cannot be carried out as it was given: one line on stderr, status 2."""

    exit_code = 2


class PluginGroup(click.Group):
    """A group that asks the composition for its commands and loads only the one that is called.

    Where nothing composes, the built-in commands stay, so that `newel plugins` can say what is wrong.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, sorted."""
        return sorted(_commands(startup_of(ctx)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The click command of that name, loaded."""
        command = _commands(startup_of(ctx)).get(cmd_name)
        if command is None:
            return None
        try:
            loaded = command.load()
        except Exception as error:
            raise Refusal(
                one_line(f"the command {cmd_name!r} cannot be loaded: {type(error).__name__}: {error}")
            ) from error
        if not isinstance(loaded, click.Command):
            raise Refusal(f"the command {cmd_name!r} is {type(loaded).__name__}, not a click command")
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; a misspelt one gets a suggestion."""
        name = args[0]
        names = self.list_commands(ctx)
        if not name.startswith("-") and name not in names:
            error = startup_of(ctx).error
            hint = did_you_mean(name, names) or f" (there are: {', '.join(names)})"
            why = f"; the plugins do not compose: {'; '.join(lines_of(error))}" if error is not None else ""
            raise Refusal(one_line(f"unknown command {name!r}{hint}{why}"))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with their one-line helps, none of them loaded."""
        commands = _commands(startup_of(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, commands[name].help) for name in sorted(commands)])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What keeps the plugins from composing, if anything does."""
        error = startup_of(ctx).error
        if error is not None:
            with formatter.section("Error"):
                formatter.write_text("The plugins do not compose:")
                for line in lines_of(error):
                    formatter.write_text(line)
                formatter.write_text("`newel plugins` lists them.")

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the group's own options."""
        with _refusals():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what is wrong with it is one line and status 2."""
        with _refusals():
            return super().invoke(ctx)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn our errors, and click's page about a wrong usage, into a Refusal."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        where = f" (see `{error.ctx.command_path} --help`)" if error.ctx is not None else ""
        raise Refusal(one_line(error.format_message()) + where) from error
    except NewelError as error:
        raise Refusal("\n  ".join(lines_of(error))) from error


def _commands(startup: Startup) -> dict[str, Command]:
    if startup.composition is None:
        return {command.name: command for command in COMMANDS}
    return {command.name: command for command in startup.composition.registry.all(Command)}


@click.command("newel", cls=PluginGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="newel", message="%(prog)s %(version)s")
def cli() -> None:
    """Run agents and look at what they are made of.

    AGENT is a YAML file, a folder with one (root_agent.yaml) or with a Python package (root_agent in agent.py), or
    module:attribute.
    """
