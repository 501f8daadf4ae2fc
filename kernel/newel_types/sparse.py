"""Rare fields of a record class: an object has one slot for all of them, and most objects share the value of that slot.

An event has thirty fields and uses ten. With a slot for each, making one costs a quarter more, and the events
of a session take a fifth more memory, for fields that are empty.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, ClassVar


class SparseValues:
    """The rare fields of one object; a subclass has a slot for each. Objects that have none share `nothing`."""

    __slots__ = ()
    names: ClassVar[tuple[str, ...]]
    nothing: ClassVar[SparseValues]

    def copy(self, of_value: Callable[[object], object] | None = None) -> SparseValues:
        """The same values for another object, each passed through `of_value` if given; the empty instance is shared."""
        if self is self.nothing:
            return self
        new = object.__new__(type(self))
        for name in self.names:
            value = getattr(self, name)
            setattr(new, name, value if of_value is None else of_value(value))
        return new


def slotted(cls: Any) -> Any:
    """The dataclass `cls`, made again with a slot for each of its own fields except those that it names in `sparse`."""
    inherited = {name for base in cls.__bases__ for name in getattr(base, "field_names", ())}
    own = [field.name for field in dataclasses.fields(cls) if field.name not in inherited]
    sparse: tuple[str, ...] = cls.__dict__.get("sparse", ())
    namespace = {k: v for k, v in cls.__dict__.items() if k not in own and k not in ("__dict__", "__weakref__")}
    namespace["__slots__"] = tuple(name for name in own if name not in sparse) + (("sparse_values",) if sparse else ())
    namespace["__qualname__"] = cls.__qualname__
    if sparse:
        kind: Any = type("SparseValues", (SparseValues,), {"__slots__": sparse, "names": sparse})
        kind.nothing = namespace["no_sparse"] = _empty(kind)
        namespace |= {name: _field(name, kind) for name in sparse}
    return type(cls)(cls.__name__, cls.__bases__, namespace)


def set_sparse(owner: Any, values: Mapping[str, Any]) -> None:
    """Set the rare fields that a constructor got; an unknown one raises TypeError, as any wrong argument does."""
    if unknown := [name for name in values if name not in owner.sparse]:
        raise TypeError(f"{type(owner).__name__}() got unexpected keyword argument(s): {', '.join(unknown)}")
    for name, value in values.items():
        setattr(owner, name, value)


def _empty(kind: type[SparseValues]) -> SparseValues:
    values = kind()
    for name in kind.names:
        setattr(values, name, None)
    return values


def _field(name: str, kind: type[SparseValues]) -> property:
    """A property over a slot of `sparse_values`; an object gets an instance of its own with its first value."""
    nothing = kind.nothing

    def write(self: Any, value: Any) -> None:
        try:
            values = self.sparse_values
        except AttributeError:  # the first rare field while it is validated or unpickled
            values = self.sparse_values = nothing
        if values is nothing:
            if value is None:
                return
            values = self.sparse_values = _empty(kind)
        setattr(values, name, value)

    return property(attrgetter(f"sparse_values.{name}"), write)
