"""`newel keys`: the API keys of models, kept where only their user reads them."""

from __future__ import annotations

import re
import sys

import click

from newel.cli import key_store
from newel.cli.terminal import say, show_json, show_table, to_terminal
from newel_kernel import ConfigurationError

_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


@click.group("keys")
def keys() -> None:
    """Keep API keys for `newel`. An environment variable takes precedence over a kept key."""


@keys.command("set")
@click.argument("name")
@click.option("--file", "in_file", is_flag=True, help="Use a file of mode 0600, even if there is a keyring.")
def set_key(name: str, in_file: bool) -> None:
    """Keep the key NAME (such as OPENAI_API_KEY). It is prompted for or read from a pipe, never an argument."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"{name!r} is not the name of a variable, such as ANTHROPIC_API_KEY")
    key = click.prompt(name, hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
    key = key.strip()
    if not key:
        raise ConfigurationError("no key was given: type it, or pipe it into this command")
    say(f"{name} is kept in {key_store.save(name, key, in_file=in_file)}")


@keys.command("list")
def list_keys() -> None:
    """Name the keys that are kept, and where; never the keys."""
    names = key_store.names()
    if to_terminal():
        show_table("kept keys", ("name", "where"), [[name, where] for name, where in names.items()])
    else:
        show_json(names)
