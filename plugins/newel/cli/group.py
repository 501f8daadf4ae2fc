"""The command line: a group whose commands are those of the composed plugins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from newel.cli.debugging import show_traceback
from newel.cli.kinds import Command
from newel.cli.loading import Refusal, loaded
from newel.cli.plugin import COMMANDS
from newel.cli.startup import Startup, startup_of
from newel.cli.terminal import lines_of, safe
from newel.events.text import one_line
from newel_compose import describe_error
from newel_kernel import NewelError, did_you_mean, plain
from newel_types import deferred

_missing_package = deferred("newel.cli.known_plugins", "missing_package")
#: The most characters of a command's help in the list of commands.
_HELP = 200


class PluginGroup(click.Group):
    """A group that asks the composition for its commands and loads only the one that is called.

    If the plugins do not compose, the built-in commands stay, so that `newel plugins` can say what is wrong.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, sorted."""
        return sorted(_commands(startup_of(ctx)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The click command of that name, loaded."""
        command = _commands(startup_of(ctx)).get(cmd_name)
        return loaded(command) if command is not None else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; a misspelt one gets a suggestion."""
        name = args[0]
        names = self.list_commands(ctx)
        if not name.startswith("-") and name not in names:
            error = startup_of(ctx).error
            others = f" (there are: {', '.join(names)}){_without_commands(ctx)}"
            hint = _missing_package()(name) or did_you_mean(name, names) or others
            why = f"; the plugins do not compose: {'; '.join(lines_of(error))}" if error is not None else ""
            raise Refusal(one_line(f"unknown command {name!r}{hint}{why}"))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with their one-line helps, none of them loaded."""
        commands = _commands(startup_of(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, plain(commands[name].help, _HELP)) for name in sorted(commands)])
            if why := _without_commands(ctx):
                formatter.write_text(why.removeprefix("; "))

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
        """Run the command; a wrong call is one line and status 2, a failure inside it one line and status 1."""
        with _refusals():
            try:
                return super().invoke(ctx)
            except (NewelError, click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
                raise
            except Exception as error:
                what = f"the command {ctx.invoked_subcommand!r} failed: {describe_error(error)}"
                raise Failure(one_line(f"{what}; --debug shows the traceback")) from error


class Failure(click.ClickException):
    """An unforeseen failure: one line on stderr, status 1."""

    def format_message(self) -> str:
        """The message; it may quote strangers."""
        return safe(self.message)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn newel's errors, and click's usage page, into a Refusal; when debugging, show the traceback."""
    try:
        with _refused():
            yield
    except click.ClickException as error:
        show_traceback(error)
        raise


@contextmanager
def _refused() -> Iterator[None]:
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
    found = startup.composition.registry.all(Command)
    commands = {command.name: command for command in found if " " not in command.name}  # the others are below a group
    return commands or {command.name: command for command in COMMANDS if command.name == "plugins"}


def _without_commands(ctx: click.Context) -> str:
    """Why there are no commands but `plugins`, or empty."""
    composition = startup_of(ctx).composition
    if composition is None or composition.registry.all(Command):
        return ""
    distribution = composition.distribution
    how = "take it out of `disable`" if "commands" in distribution.disable else "write `extends: standard`"
    return (
        f"; the distribution {distribution.name!r} has no commands, because the plugin 'commands' is not enabled: {how}"
    )


@click.command("newel", cls=PluginGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks. May be given anywhere.")
@click.option(
    "--set",
    metavar="PLUGIN.KEY=VALUE",
    multiple=True,
    expose_value=False,
    help="Set a plugin's setting. May be repeated, and given anywhere.",
)
@click.version_option(package_name="newel", message="%(prog)s %(version)s")
def cli() -> None:
    """Run agents and look at what they are made of.

    AGENT is a YAML file, a folder with one (root_agent.yaml) or with a Python package (root_agent in agent.py), or
    module:attribute.
    """
