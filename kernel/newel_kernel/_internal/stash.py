"""Stash: where plugins keep what is theirs, typed and without collisions.

    ATTEMPTS = Key[int]("attempts")
    ctx.stash[ATTEMPTS] = ctx.stash.get(ATTEMPTS, 0) + 1

    ANSWERS = Key[dict[str, Answer]]("answers by call id", dict)
    ctx.stash[ANSWERS][call_id] = answer

Only who has the key can read or write under it. The idea is pytest's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")
F = TypeVar("F")


class Key(Generic[T]):
    """A key of a stash, for values of type T. Two keys are never equal; the name is for messages.

    With `factory`, ``stash[key]`` makes the value where there is none.
    """

    __slots__ = ("factory", "name")

    def __init__(self, name: str, factory: Callable[[], T] | None = None) -> None:
        self.name = name
        self.factory = factory

    def __repr__(self) -> str:
        return f"Key({self.name!r})"


_MISSING: Any = object()


class Stash:
    """Values by their keys."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[Key[Any], Any] = {}

    def __getitem__(self, key: Key[T]) -> T:
        value = self._values.get(key, _MISSING)
        if value is _MISSING:
            if key.factory is None:
                raise KeyError(key)
            value = self._values[key] = key.factory()
        return cast("T", value)

    def __setitem__(self, key: Key[T], value: T) -> None:
        self._values[key] = value

    def __delitem__(self, key: Key[T]) -> None:
        del self._values[key]

    def __contains__(self, key: Key[T]) -> bool:
        return key in self._values

    def __bool__(self) -> bool:
        return bool(self._values)

    def get(self, key: Key[T], default: F) -> T | F:
        """The value under `key`, or `default`."""
        return cast("T | F", self._values.get(key, default))

    def setdefault(self, key: Key[T], default: T) -> T:
        """The value under `key`; where there is none, `default` is put there."""
        return cast("T", self._values.setdefault(key, default))

    def pop(self, key: Key[T], default: F) -> T | F:
        """Take the value under `key` out, or give `default`."""
        return cast("T | F", self._values.pop(key, default))

    def copy(self) -> Stash:
        """A stash of its own with the same values."""
        new = Stash()
        new._values.update(self._values)
        return new

    def __repr__(self) -> str:
        return f"Stash({', '.join(sorted(key.name for key in self._values))})"
