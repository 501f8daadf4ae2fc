"""Stash: where plugins keep their own values, typed and without collisions.

    ATTEMPTS = Key[int]("attempts")
    ctx.stash[ATTEMPTS] = ctx.stash.get(ATTEMPTS, 0) + 1

    ANSWERS = Key[dict[str, Answer]]("answers by call id", dict)
    ctx.stash[ANSWERS][call_id] = answer

Only code that has the key can read or write under it. The idea is pytest's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

T = TypeVar("T")
F = TypeVar("F")


class Key(Generic[T]):
    """A key of a stash, for values of type T. Two keys are never equal; the name is for messages.

    With `factory`, ``stash[key]`` makes a missing value.
    """

    __slots__ = ("factory", "name")

    def __init__(self, name: str, factory: Callable[[], T] | None = None) -> None:
        self.name = name
        self.factory = factory

    def __repr__(self) -> str:
        return f"Key({self.name!r})"


if TYPE_CHECKING:

    class _Values:
        """The methods of a dict, typed for a stash."""

        def __getitem__(self, key: Key[T]) -> T: ...
        def __setitem__(self, key: Key[T], value: T) -> None: ...
        def __delitem__(self, key: Key[T]) -> None: ...
        def __contains__(self, key: Key[T]) -> bool: ...
        def get(self, key: Key[T], default: F) -> T | F: ...
        def setdefault(self, key: Key[T], default: T) -> T: ...
        def pop(self, key: Key[T], default: F) -> T | F: ...
        def update(self, other: _Values) -> None: ...
        def __iter__(self) -> Iterator[Key[Any]]: ...

else:
    _Values = dict  # a dict's own methods take a third of the time


class Stash(_Values):
    """Values by their keys."""

    __slots__ = ()

    def __missing__(self, key: Key[T]) -> T:
        if key.factory is None:
            raise KeyError(key)
        self[key] = value = key.factory()
        return value

    def copy(self) -> Stash:
        """A new stash with the same values."""
        new = Stash()
        new.update(self)
        return new

    def __repr__(self) -> str:
        return f"Stash({', '.join(sorted(key.name for key in self))})"
