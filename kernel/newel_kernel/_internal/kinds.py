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
    #: The key under a distribution's `orders` that lists its stages in order; empty: its stages have no order.
    order: str = ""

    @property
    def hook(self) -> str:
        """The name of the hook."""
        return self.specification.__name__


class Registry(Protocol):
    """What the plugins of a composition provide, by kind and name."""

    def find(self, kind: type[D], name: str) -> D:
        """The descriptor of that kind and name; a ConfigurationError names the known ones."""

    def all(self, kind: type[D]) -> Sequence[D]:
        """The descriptors of a kind, in the order of their plugins."""

    def why_missing(self, kind: type[Descriptor]) -> str:
        """A possible reason why a descriptor of this kind is missing, for the end of an error message; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage(Descriptor):
    """A named step of a chain. Outside the distribution's spine it sits beside its anchors."""

    #: Stages it follows.
    after: tuple[str, ...] = ()
    #: Stages it precedes.
    before: tuple[str, ...] = ()
