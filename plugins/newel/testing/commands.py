"""command_conformance: checks that a command of the command line behaves as the others do."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import click
from click.testing import CliRunner, Result

from newel.testing.sessions.place import same
from newel.testing.store_checks import run_all
from newel_compose import Loader
from newel_kernel import NewelError

#: Escape sequences, and characters that change the direction of a text.
_ESCAPES = re.compile("[\x00-\x08\x0b-\x1f\x7f\x9b\u202a-\u202e\u2066-\u2069]")
_LONGEST_HELP = 80


class _Case(NamedTuple):
    command: Loader
    runs: Sequence[Sequence[str]]
    refuses: Sequence[Sequence[str]]

    def loaded(self) -> click.Command:
        """The click command."""
        loaded = self.command.load()
        assert isinstance(loaded, click.Command), f"`load` gives {loaded!r:.100}, not a click command"
        return loaded

    def call(self, *args: str) -> Result:
        """Call it as `newel NAME ARGS` in a pipe."""
        return CliRunner().invoke(self.loaded(), [*args], prog_name=f"newel {self.command.name}")


def _ended_well(result: Result, args: Sequence[str]) -> None:
    problem = result.exception if result.exit_code else None
    assert result.exit_code == 0, f"{[*args]} ends with {result.exit_code}: {result.output[-300:]}{problem or ''}"


def _commands(command: click.Command, path: str = "") -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    for name, inner in (command.commands if isinstance(command, click.Group) else {}).items():
        found += _commands(inner, f"{path} {name}".strip())
    return found


def it_has_a_name_and_a_line_of_help(case: _Case) -> None:
    """The line is a sentence, which `newel --help` shows without loading the command."""
    name, text = case.command.name, getattr(case.command, "help", "")
    assert re.fullmatch(r"[a-z][a-z0-9_-]*( [a-z][a-z0-9_-]*)*", name), f"the name {name!r} cannot be typed"
    assert text == text.strip(), f"the help {text!r} begins or ends with blanks"
    assert "\n" not in text, f"the help {text!r} is not one line"
    assert len(text) <= _LONGEST_HELP, f"the help has {len(text)} characters; {_LONGEST_HELP} fit in a line"
    assert text.endswith("."), f"the help {text!r} is not a sentence"


def it_explains_itself(case: _Case) -> None:
    """`--help` of it and of its commands ends with status 0, and says what each option is for."""
    for path, command in _commands(case.loaded()):
        args = [*path.split(), "--help"]
        result = case.call(*args)
        _ended_well(result, args)
        assert "Usage:" in result.output, f"{args} shows no usage"
        assert (command.help or "").strip(), f"`{case.command.name} {path}` has no help"
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert (parameter.help or "").strip(), f"the option {parameter.opts[0]} has no help"


def it_loads_again(case: _Case) -> None:
    """`load` may be called more than once, and gives the same command."""
    first, second = (
        [(path, [one.name for one in command.params]) for path, command in _commands(case.loaded())] for _ in range(2)
    )
    same(first, second)


def it_runs(case: _Case) -> None:
    """Each of `runs` ends with status 0, as often as it is called, and its last line is complete."""
    for args in case.runs:
        for _ in range(2):
            result = case.call(*args)
            _ended_well(result, args)
            assert not result.stdout or result.stdout.endswith("\n"), f"the output of {[*args]} ends within a line"


def its_output_is_plain_in_a_pipe(case: _Case) -> None:
    """No colours, cursor movements or other control characters, if nobody looks."""
    for args in case.runs:
        found = _ESCAPES.search(case.call(*args).output)
        assert found is None, f"the output of {[*args]} has {found.group()!r} at {found.start()}" if found else ""


def its_json_is_json(case: _Case) -> None:
    """With `--json`, if it has it, standard output is one JSON value and nothing else."""
    if any("--json" in parameter.opts for parameter in case.loaded().params):
        for args in case.runs:
            result = case.call(*args, *(() if "--json" in args else ("--json",)))
            _ended_well(result, [*args, "--json"])
            try:
                json.loads(result.stdout)
            except ValueError as error:
                raise AssertionError(f"the output of {[*args, '--json']} is not JSON: {error}") from None


def what_is_wrong_is_refused(case: _Case) -> None:
    """An unknown option, and each of `refuses`: a status that is not 0, one line on standard error, no traceback."""
    for args in (*case.refuses, ["--no-such-option"]):
        result = case.call(*args)
        assert result.exit_code != 0, f"{[*args]} is wrong, and ends with status 0"
        error = result.exception
        known = error is None or isinstance(error, (SystemExit, NewelError, click.ClickException))
        assert known, f"{[*args]} ends in {type(error).__name__}: {error}; raise a ConfigurationError"
        assert "Traceback" not in result.output, f"{[*args]} shows a traceback"
        said = result.stderr.strip() or str(error or "").strip()
        assert said, f"{[*args]} is refused without a word"
        assert not result.stdout.strip(), f"{[*args]} is refused, and prints {result.stdout[:80]!r} to standard output"


def the_process_is_as_before(case: _Case) -> None:
    """Loading and running it changes no setting of the process: others run in it, too."""
    before = _process()
    for args in case.runs:
        case.call(*args)
    after = _process()
    for name, value in before.items():
        assert after[name] == value, f"it leaves {name} changed: {value!r:.100} is now {after[name]!r:.100}"


def _process() -> dict[str, object]:
    """What a command must not change."""
    root = logging.getLogger()
    return {
        "the working directory": os.getcwd(),
        "the environment": dict(os.environ),
        "the signal handlers": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        "the root logger": (root.level, list(root.handlers)),
        "the filters of warnings": list(warnings.filters),
        "sys.path": list(sys.path),
        "sys.argv": list(sys.argv),
        "sys.excepthook": sys.excepthook,
    }


CHECKS = {
    check.__name__: check
    for check in (
        it_has_a_name_and_a_line_of_help,
        it_explains_itself,
        it_loads_again,
        it_runs,
        its_output_is_plain_in_a_pipe,
        its_json_is_json,
        what_is_wrong_is_refused,
        the_process_is_as_before,
    )
}


def command_checks(
    command: Loader, *, runs: Sequence[Sequence[str]] = ((),), refuses: Sequence[Sequence[str]] = ()
) -> Mapping[str, Callable[[], None]]:
    """The checks of a command by name: each is called without arguments; AssertionError if it fails.

    `command` is a `newel.cli.kinds.Command`. Each of `runs` are arguments with which it succeeds, and which may be
    called again; each of `refuses` are arguments that it has to refuse.
    """
    case = _Case(command, runs, refuses)
    return {name: partial(check, case) for name, check in CHECKS.items()}


def command_conformance(
    command: Loader, *, runs: Sequence[Sequence[str]] = ((),), refuses: Sequence[Sequence[str]] = ()
) -> None:
    """Run every check of `command_checks`; one AssertionError names all that fail."""
    run_all(command_checks(command, runs=runs, refuses=refuses), "command")
