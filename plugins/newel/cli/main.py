"""The console script `newel`."""

from __future__ import annotations

import gc
import os
import sys

from newel.cli.debugging import take_option
from newel.cli.key_file import path as key_file
from newel_types import deferred

_SET = "--set"
#: They load while the collector of garbage rests.
_take_given = deferred("newel.cli.given_settings", "take_settings")
_load_keys = deferred("newel.cli.key_store", "load")
_start = deferred("newel.cli.startup", "start")
_cli = deferred("newel.cli.group", "cli")
_exit_process = deferred("newel.cli.exit", "exit_process")


def main() -> None:
    """Run the command; Ctrl-C ends it with no other message than "Aborted!"."""
    try:
        _main()
    except SystemExit as ended:
        _exit_process()(ended)
    except KeyboardInterrupt:  # while it started
        sys.exit("Aborted!")


def _open_streams() -> None:
    """Replace the streams that the parent process has closed: nothing to read, and output goes nowhere."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - stays open


def _take_settings() -> None:
    """Apply each `--set`; a wrong one ends the command."""
    try:
        _take_given()(sys.argv)
    except ValueError as error:  # a ConfigurationError, whose class is not loaded yet
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)


def _main() -> None:
    """Compose, then run the command."""
    _open_streams()
    take_option(sys.argv)
    if any(one.startswith(_SET) for one in sys.argv):
        _take_settings()
    # Imports and composition make many objects and drop few: collecting meanwhile is a third of the start-up time.
    gc.disable()
    problem = _load_keys()() if key_file().exists() else ""
    if problem:  # the command may do without the keys, and `newel doctor` names it
        print(f"newel: the kept keys are not used: {problem}", file=sys.stderr)
    startup = _start()()
    cli = _cli()
    gc.freeze()
    gc.enable()
    cli(prog_name="newel", obj=startup)


if __name__ == "__main__":
    main()
