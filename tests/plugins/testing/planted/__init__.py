"""Planted bugs: right implementations with one fault each, and the check that has to catch it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T", bound=type)


class Bug(NamedTuple):
    """A faulty implementation, and the name of the check that catches it."""

    faulty: Any
    check: str


class Bugs(list[Bug]):
    """The planted bugs of a kit."""

    def caught_by(self, check: str) -> Callable[[T], T]:
        """Add a class to the planted bugs."""

        def add(faulty: T) -> T:
            self.append(Bug(faulty, check))
            return faulty

        return add
