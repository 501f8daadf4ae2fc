"""Known plugins: packages that can be installed, from the list that comes with newel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from newel_compose import load_yaml, read_text

FILE = Path(__file__).with_name("known_plugins.yaml")


class KnownPlugin(BaseModel, extra="forbid", frozen=True):
    """A package on the list."""

    package: str
    #: What it is for, in a line.
    summary: str
    #: The names of its plugins.
    plugins: tuple[str, ...]
    #: Kind, as its hook names it -> the names of what it provides.
    provides: Mapping[str, tuple[str, ...]]

    def has(self, word: str) -> bool:
        """Whether it says a word, in upper or lower case."""
        items = [name for names in self.provides.values() for name in names]
        texts = (self.package, self.summary, *self.plugins, *self.provides, *items)
        return any(word.lower() in text.lower() for text in texts)


@cache
def known_plugins() -> tuple[KnownPlugin, ...]:
    """The list."""
    found = load_yaml(read_text(FILE), str(FILE))
    return TypeAdapter(tuple[KnownPlugin, ...]).validate_python(found)


def missing_package(command: str) -> str:
    """What to install for a command that is not there; empty if no known package provides it."""
    package = next((one.package for one in known_plugins() if command in one.provides.get("commands", ())), None)
    if package is None:
        return ""
    return (
        f"; it comes with {package}: `pip install {package}`, and enable its plugin if your distribution names each one"
    )
