"""Shapes of descriptors that many kinds have: what makes something, what imports something, what opens a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from newel_kernel import Descriptor

if TYPE_CHECKING:
    from newel_compose._internal.composition import Composition

S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Factory(Descriptor):
    """Makes something when asked; keyword arguments come from an agent file or a caller."""

    create: Callable[..., Any]
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader(Descriptor):
    """Imports and returns something when it is needed."""

    load: Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend(Descriptor, Generic[S]):
    """The base of kinds of stores: opens one from a URI whose scheme is `name`.

    A distribution sets the URI of a kind of store under `services`, by the kind's `service`.
    """

    #: The key under `services`.
    service: ClassVar[str] = ""
    open: Callable[[str], S]
    #: Called instead with the composition, too: for a store that is made of what other plugins provide.
    open_in: Callable[[str, Composition], S] | None = None


@runtime_checkable
class Describable(Protocol):
    """An object that a registration hook may return in place of a descriptor, because it has one to give."""

    def describe(self, kind: type[Descriptor], /) -> Descriptor:
        """The descriptor, of `kind` where the object can be one."""


@dataclass(frozen=True, slots=True)
class Guard:
    """How a function of a stranger's descriptor is guarded, when it is composed: see `guards` of its class.

    What the function raises names its plugin then, and a wrong result is an error that names function, file and line.
    A kind of a plugin's own says it in a class variable: ``guards: ClassVar = {"make": Guard(("session",), ...)}``.
    """

    #: The names of what it is called with, one after another.
    arguments: tuple[str, ...]
    #: Whether a result is what it must return, and that in words.
    fits: Callable[[Any], bool]
    expected: str
    #: Whether its result is awaited; None: a result that can be awaited is.
    awaited: bool | None = False
    #: Of a function that makes another one: how that is guarded.
    result: Guard | None = None
