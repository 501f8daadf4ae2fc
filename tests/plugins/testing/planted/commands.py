"""Planted bugs of commands."""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from typing import Any, ClassVar

import click
from tests.plugins.testing.planted import Bugs

from newel.cli.kinds import Command
from newel_kernel import ConfigurationError

BUGS = Bugs()


class Right:
    """A right command: it greets."""

    name: ClassVar[str] = "greet"
    help: ClassVar[str] = "Greet somebody."

    @classmethod
    def command(cls) -> Command:
        return Command(name=cls.name, load=cls().load, help=cls.help)

    def load(self) -> Any:
        @click.command(help="Greet NAME.")
        @click.argument("name", default="Ann")
        @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
        def greet(name: str, as_json: bool) -> None:
            if name == "nobody":
                raise ConfigurationError("nobody cannot be greeted; name somebody")
            self.greet(name, as_json)

        return greet

    def greet(self, name: str, as_json: bool) -> None:
        click.echo(json.dumps({"hello": name}) if as_json else f"Hello, {name}.")


@BUGS.caught_by("it_has_a_name_and_a_line_of_help")
class HasNoHelp(Right):
    help = ""


@BUGS.caught_by("it_has_a_name_and_a_line_of_help")
class CannotBeTyped(Right):
    name = "Greet Somebody"


@BUGS.caught_by("it_explains_itself")
class HasAnUnexplainedOption(Right):
    def load(self) -> Any:
        return click.option("--loud", is_flag=True)(super().load())


@BUGS.caught_by("it_loads_again")
class AddsAnOptionEachTime(Right):
    def __init__(self) -> None:
        self.loaded = Right.load(self)

    def load(self) -> Any:
        number = len(self.loaded.params)
        self.loaded.params.append(click.Option([f"--more{number}"], help="More."))
        return self.loaded


@BUGS.caught_by("it_runs")
class RunsOnce(Right):
    ran = False

    def greet(self, name: str, as_json: bool) -> None:
        if self.ran:
            raise RuntimeError("it has run")
        self.ran = True
        super().greet(name, as_json)


@BUGS.caught_by("it_runs")
class EndsWithinALine(Right):
    def greet(self, name: str, as_json: bool) -> None:
        click.echo(f"Hello, {name}.", nl=False)


@BUGS.caught_by("its_output_is_plain_in_a_pipe")
class IsAlwaysColourful(Right):
    def greet(self, name: str, as_json: bool) -> None:
        sys.stdout.write("\x1b[1mHello\x1b[0m\n")


@BUGS.caught_by("its_json_is_json")
class PrintsBeforeItsJson(Right):
    def greet(self, name: str, as_json: bool) -> None:
        click.echo("Greeting ...")
        super().greet(name, as_json)


@BUGS.caught_by("what_is_wrong_is_refused")
class SucceedsWithAWarning(Right):
    def load(self) -> Any:
        @click.command(help="Greet NAME.")
        @click.argument("name", default="Ann")
        def greet(name: str) -> None:
            click.echo("nobody cannot be greeted" if name == "nobody" else f"Hello, {name}.")

        return greet


@BUGS.caught_by("what_is_wrong_is_refused")
class FallsOver(Right):
    def load(self) -> Any:
        @click.command(help="Greet NAME.")
        @click.argument("name", default="Ann")
        def greet(name: str) -> None:
            click.echo({"Ann": "Hello, Ann."}[name])

        return greet


@BUGS.caught_by("the_process_is_as_before")
class SetsUpLogging(Right):
    def greet(self, name: str, as_json: bool) -> None:
        logging.getLogger().addHandler(logging.NullHandler())
        super().greet(name, as_json)


@BUGS.caught_by("the_process_is_as_before")
class SilencesWarnings(Right):
    def greet(self, name: str, as_json: bool) -> None:
        warnings.simplefilter("ignore")
        super().greet(name, as_json)


@BUGS.caught_by("the_process_is_as_before")
class SetsAVariable(Right):
    def greet(self, name: str, as_json: bool) -> None:
        os.environ["GREETED"] = name
        super().greet(name, as_json)
