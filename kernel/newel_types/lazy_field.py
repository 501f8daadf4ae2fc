"""Lazy fields: the parts of an event that exist only once something touches them, and what readers see before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from newel_types.records import FrozenError, Json


class FrozenEmptyDict(Json):
    """The empty containers of a committed event without actions."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise FrozenError("the event is committed, its actions cannot be changed; work on event.model_copy()")

    __setitem__ = __delitem__ = update = setdefault = _refuse


def lazy(slot: Any, make: Callable[[], Any], frozen: type[object], empty: Any) -> Any:
    """A property over `slot` that makes its value when first read; a `frozen` object shows the shared `empty` one."""
    read, write = slot.__get__, slot.__set__

    def get(self: object) -> object:
        value = read(self)
        if value is None:
            if self.__class__ is frozen:
                return empty
            value = make()
            write(self, value)
        return value

    return property(get, write)


class UnmadeFields:
    """Unmakes, after a dump of `owner`, the values that the dump made by reading its lazy `slots`."""

    __slots__ = ("owner", "slots", "values")

    def __init__(self, owner: object, slots: tuple[Any, ...]) -> None:
        self.owner, self.slots, self.values = owner, slots, [slot.__get__(owner) for slot in slots]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        for slot, value in zip(self.slots, self.values, strict=True):
            slot.__set__(self.owner, value)
