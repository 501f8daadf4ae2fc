"""Debugging: with `--debug`, or NEWEL_DEBUG=1, every error shows its traceback."""

from __future__ import annotations

import os
import sys
import traceback

VARIABLE = "NEWEL_DEBUG"
OPTION = "--debug"


def take_option(arguments: list[str]) -> None:
    """Take `--debug` out of a command line, wherever it stands before a `--`; this process and its children debug."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if OPTION in arguments[:end]:
        arguments[:end] = [one for one in arguments[:end] if one != OPTION]
        os.environ[VARIABLE] = "1"


def debugging() -> bool:
    """Whether tracebacks are wanted."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def show_traceback(error: BaseException) -> None:
    """Print the traceback of `error`, if wanted."""
    if debugging():
        traceback.print_exception(error, file=sys.stderr)
