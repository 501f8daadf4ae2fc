"""Shapes of descriptors that many kinds share: to make something, to import something, to open a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    #: What it opens, in words; empty: a store, of its `service`.
    noun: ClassVar[str] = ""
    #: The methods that a store must have.
    methods: ClassVar[tuple[str, ...]] = ()
    #: Scheme -> the package that has a plugin for it, for the error when that is not installed.
    packages: ClassVar[Mapping[str, str]] = {}
    open: Callable[[str], S]
    #: Called instead of `open`, with the composition too: for a store built from what other plugins provide.
    open_in: Callable[[str, Composition], S] | None = None


@runtime_checkable
class Describable(Protocol):
    """An object that a registration hook may return in place of a descriptor, because it can make one."""

    def describe(self, kind: type[Descriptor], /) -> Descriptor:
        """The descriptor, of `kind` if the object can make one."""


@dataclass(frozen=True, slots=True)
class Guard:
    """How a function in another package's descriptor is guarded when it is composed.

    Its errors then name the plugin, and a wrong result is an error that names function, file and line. A kind that a
    plugin declares has a class variable for it: ``guards: ClassVar = {"make": Guard(("session",), ...)}``.
    """

    #: The names of its positional arguments, in order.
    arguments: tuple[str, ...]
    #: Whether a result is valid, and what a valid one is, in words.
    fits: Callable[[Any], bool]
    expected: str
    #: Whether its result must be an awaitable; None: either is allowed, and an awaitable is awaited.
    awaited: bool | None = False
    #: For a function that returns a function: the guard of the latter.
    result: Guard | None = None
