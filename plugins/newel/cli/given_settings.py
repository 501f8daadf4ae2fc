"""Given settings: `--set PLUGIN.KEY=VALUE`, anywhere on a command line."""

from __future__ import annotations

from collections.abc import Iterator

from newel_compose import give_setting

OPTION = "--set"


def take_settings(arguments: list[str]) -> None:
    """Take each `--set` out of a command line, if it stands before a `--`; they hold for this process and its children.

    A ConfigurationError if one has no value.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if not any(one.partition("=")[0] == OPTION for one in arguments[:end]):
        return
    kept = list(_without_settings(iter(arguments[:end])))
    arguments[:end] = kept


def _without_settings(arguments: Iterator[str]) -> Iterator[str]:
    for one in arguments:
        option, equals, assignment = one.partition("=")
        if option != OPTION:
            yield one
        else:
            give_setting(assignment if equals else next(arguments, ""))
