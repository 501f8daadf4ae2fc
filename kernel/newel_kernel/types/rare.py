"""Rare fields of a hot class: an object has no slot for each of them, but one for a bag, which most objects share.

An event has thirty fields and uses ten. With a slot for each, making one costs a quarter more, and the events
of a session take a fifth more memory, for what they do not say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, ClassVar


class Bag:
    """The rare fields of one object; a subclass has a slot for each. `nothing` is the bag of all that have none."""

    __slots__ = ()
    names: ClassVar[tuple[str, ...]]
    nothing: ClassVar[Bag]

    def copy(self, of_value: Callable[[Any], Any] | None = None) -> Bag:
        """A bag of the same values (or of copies of them) for another object; the empty one is shared."""
        if self is self.nothing:
            return self
        new = object.__new__(type(self))
        for name in self.names:
            value = getattr(self, name)
            setattr(new, name, value if of_value is None else of_value(value))
        return new


def slotted(cls: Any) -> Any:
    """The dataclass `cls` anew, with a slot for each of its own fields but those that it names in `rare`."""
    inherited = {name for base in cls.__bases__ for name in getattr(base, "field_names", ())}
    own = [field.name for field in dataclasses.fields(cls) if field.name not in inherited]
    rare: tuple[str, ...] = cls.__dict__.get("rare", ())
    namespace = {k: v for k, v in cls.__dict__.items() if k not in own and k not in ("__dict__", "__weakref__")}
    namespace["__slots__"] = tuple(name for name in own if name not in rare) + (("bag",) if rare else ())
    namespace["__qualname__"] = cls.__qualname__
    if rare:
        kind: Any = type("Bag", (Bag,), {"__slots__": rare, "names": rare})
        kind.nothing = namespace["nothing_rare"] = _empty(kind)
        namespace |= {name: _field(name, kind) for name in rare}
    return type(cls)(cls.__name__, cls.__bases__, namespace)


def set_rare(owner: Any, values: Mapping[str, Any]) -> None:
    """Set rare fields that a constructor got; one that there is none of is refused as any wrong argument."""
    if unknown := [name for name in values if name not in owner.rare]:
        raise TypeError(f"{type(owner).__name__}() got unexpected keyword argument(s): {', '.join(unknown)}")
    for name, value in values.items():
        setattr(owner, name, value)


def _empty(kind: type[Bag]) -> Bag:
    bag = kind()
    for name in kind.names:
        setattr(bag, name, None)
    return bag


def _field(name: str, kind: type[Bag]) -> property:
    """A property over a slot of the object's bag; an object gets a bag of its own with its first value."""
    nothing = kind.nothing

    def write(self: Any, value: Any) -> None:
        bag = getattr(self, "bag", nothing)  # one that is being validated or unpickled has none yet
        if bag is nothing and value is not None:
            bag = _empty(kind)
        if bag is not nothing:
            setattr(bag, name, value)
        self.bag = bag

    return property(attrgetter(f"bag.{name}"), write)
