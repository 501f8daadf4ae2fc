"""Kinds: what plugins provide, described by frozen descriptors.

The consumer of a kind declares it: a descriptor class, and the hook through which plugins provide it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """The base of what a registration hook returns: a named, frozen description of what a plugin provides.

    Its class is its kind, and `name` is unique within the kind. The composition adds who provided it.
    """

    name: str


D = TypeVar("D", bound=Descriptor)
D_co = TypeVar("D_co", bound=Descriptor, covariant=True)


@dataclass(frozen=True, slots=True)
class Kind(Generic[D_co]):
    """A kind of descriptor, and the specification of the hook through which plugins provide it.

    The hook's name starts with ``register_``. A plugin declares kinds for others to fill with `register_kinds`.
    """

    descriptor: type[D_co]
    #: A function marked with ``@hookspec``; its name is the hook's.
    specification: Callable[..., Sequence[D_co]]
    #: The order of its stages: a distribution lists them under this key (``request_chain``), or under `orders`. Empty:
    #: the kind has no order, and its descriptor is not a `Stage`.
    order: str = ""
    #: Whether a stage needs neither a place in the distribution nor an anchor: it is at the end, by name.
    open_ended: bool = False

    @property
    def hook(self) -> str:
        """The name of the hook."""
        return self.specification.__name__


class Registry(Protocol):
    """What the plugins of a composition provide, by kind and name."""

    def find(self, kind: type[D], name: str) -> D:
        """The descriptor of that kind and name; a ConfigurationError names the known ones."""

    def all(self, kind: type[D]) -> Sequence[D]:
        """The descriptors of a kind in its order; if the kind has no order, in that of their plugins."""

    def why_missing(self, kind: type[Descriptor]) -> str:
        """A possible reason why a descriptor of this kind is missing, for the end of an error message; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage(Descriptor):
    """The base of kinds that have an order. Outside the distribution's spine a stage sits next to its anchors."""

    #: Stages it follows.
    after: tuple[str, ...] = ()
    #: Stages it precedes.
    before: tuple[str, ...] = ()

    @property
    def phase(self) -> int:
        """All stages of a lower phase run before those of a higher one; an anchor that contradicts is an error."""
        return 0
