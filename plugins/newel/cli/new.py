"""`newel new`: the files of a new agent, plugin or distribution, which run and pass their tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from newel.cli.skeletons import KINDS, files_of
from newel.cli.startup import startup_of
from newel.cli.templates import AGENT, DISTRIBUTION
from newel.cli.terminal import say
from newel_kernel import ConfigurationError

_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
#: The most characters of a name: what is made from it stays on one line of 120.
_LONGEST = 30
#: Packages that newel or tests have: two packages of one name hide each other.
_RESERVED = frozenset({"newel", "test", "tests"})


@click.group("new")
def new() -> None:
    """Create an agent, a plugin or a distribution in a new folder here."""


@new.command("agent")
@click.argument("name")
def agent(name: str) -> None:
    """Make the folder NAME with an agent in YAML, a tool and a test."""
    package = _package_name(name)
    _write(Path(package), AGENT, name=package)
    say(f'{package}: newel run {package} "What is the weather in Paris?", or: pytest {package}')


@new.command("plugin")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), default="processor", show_default=True, help="What it provides.")
@click.pass_context
def plugin(ctx: click.Context, name: str, kind: str) -> None:
    """Make the folder newel-NAME with a plugin, ready to be installed and published."""
    package = _package_name(name)
    composition = startup_of(ctx).composition
    if composition is not None and any(record.name == package for record in composition.plugins):
        raise ConfigurationError(f"a plugin {package!r} is installed; choose another name")
    folder = Path(f"newel-{package.replace('_', '-')}")
    _write_files(folder, files_of(kind, package))
    _say_next(folder, "plugin")


@new.command("distribution")
@click.argument("name")
def distribution(name: str) -> None:
    """Make the folder newel-NAME with a distribution, ready to be installed and published."""
    package = _package_name(name)
    if package in ("adk", "minimal", "standard"):
        raise ConfigurationError(f"newel has a distribution {package!r}; choose another name")
    text = f"The distribution {package} of newel."
    _package(package, DISTRIBUTION, "distribution", "newel.distributions", "newel_{name}", text)


def _package_name(name: str) -> str:
    """The name as Python writes it."""
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise ConfigurationError(
            f"{name!r} cannot be used as a name: write lower-case letters, digits and _, such as order_desk"
        )
    if len(name) > _LONGEST:
        raise ConfigurationError(f"{name!r} has {len(name)} characters, and a name may have {_LONGEST}; shorten it")
    return name.replace("-", "_")


def _package(name: str, files: Mapping[str, str], kind: str, group: str, target: str, description: str) -> None:
    dashed = name.replace("_", "-")
    folder = Path(f"newel-{dashed}")
    _write(
        folder,
        files,
        name=name,
        dashed=dashed,
        package=f"newel_{name}",
        group=group,
        target=target.format(name=name),
        description=description,
    )
    _say_next(folder, kind)


def _say_next(folder: Path, what: str) -> None:
    say(f"{folder}: cd {folder} && pip install -e '.[test]' && pytest, then the {what} takes part")


def _write(folder: Path, files: Mapping[str, str], **names: str) -> None:
    _write_files(folder, ((path.format(**names), text.format(**names)) for path, text in files.items()))


def _write_files(folder: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write the files, or none of them."""
    if folder.exists():
        raise ConfigurationError(f"{folder} already exists; choose another name, or another folder to work in")
    try:
        for path, text in files:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error.strerror or error}") from None
