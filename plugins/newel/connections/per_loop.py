"""PerLoop: one object per event loop, such as a client whose sockets work in one loop only."""

from __future__ import annotations

import asyncio
import os
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import WeakSet, ref

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One object per event loop: `make` creates it when it is first asked for.

    With `close`, an object is also closed in its own loop when the loop ends (``asyncio.run`` and ``asyncio.Runner`` do
    that: see ``loop.shutdown_asyncgens``), or when this PerLoop is garbage collected; that takes `patience` seconds at
    most. The object of a loop that was closed in another way is dropped when the next one is made. A forked child makes
    objects of its own, and leaves its parent's alone. Threads may share a PerLoop: a loop runs in one at a time.
    """

    __slots__ = ("__weakref__", "_close", "_forget", "_make", "_patience", "_places")

    def __init__(
        self, make: Callable[[], T], close: Callable[[T], Awaitable[object]] | None = None, *, patience: float = 10.0
    ) -> None:
        self._make = make
        self._close = close
        self._patience = patience
        self._places: dict[ref[AbstractEventLoop], _Place[T]] = {}

        me = ref(self)  # the loops must not keep it alive

        def forget(loop: ref[AbstractEventLoop]) -> None:
            if (owner := me()) is not None:
                owner._places.pop(loop, None)

        self._forget = forget
        _all.add(self)

    def __len__(self) -> int:
        """The number of loops that have an object."""
        return len(self._places)

    def get(self) -> T:
        """The running loop's object."""
        return self.of(get_running_loop())

    def of(self, loop: AbstractEventLoop) -> T:
        """The object of the running loop, which is `loop`."""
        place = self._places.get(ref(loop))
        return place.object if place is not None else self._made()

    def peek(self) -> T | None:
        """The running loop's object; None if it has none."""
        place = self._places.get(ref(get_running_loop()))
        return place.object if place is not None else None

    def objects(self) -> list[T]:
        """The objects of all loops."""
        return [place.object for place in list(self._places.values())]

    async def close(self) -> None:
        """Forget the running loop's object and close it, if there is a way to; `get` then makes another one."""
        place = self._places.pop(ref(get_running_loop()), None)
        if place is not None and place.keeper is not None:
            await place.keeper.aclose()

    def _made(self) -> T:
        loop = get_running_loop()
        for key in list(self._places):  # the keys alone: making pairs could start a collection, which calls `_forget`
            other = key()
            if other is None or _is_closed(other):  # the object may be what keeps a closed loop alive
                self._places.pop(key, None)
        place = _Place(self._make())
        key = ref(loop, self._forget)
        if self._close is not None:
            place.keeper = _keep(place.object, self._close, self._patience, partial(self._forget, key))
            _start(place.keeper)
        self._places[key] = place
        return place.object


def _is_closed(loop: AbstractEventLoop) -> bool:
    """Whether a loop was closed; one of an engine that replays workflows may not say so, and is not."""
    with suppress(NotImplementedError):
        return loop.is_closed()
    return False


class _Place(Generic[T]):
    """The object of one loop, and the generator that closes it."""

    __slots__ = ("keeper", "object")

    def __init__(self, made: T) -> None:
        self.object = made
        self.keeper: AsyncGenerator[None, None] | None = None


async def _keep(
    made: T, close: Callable[[T], Awaitable[object]], patience: float, forget: Callable[[], None]
) -> AsyncGenerator[None, None]:
    """Close `made` in its own loop: a loop that ends closes its open generators first."""
    process = os.getpid()
    try:
        yield
    finally:
        if process == os.getpid():  # else this child has its parent's loop, and ends it
            forget()
            try:
                async with asyncio.timeout(patience) as bound:
                    await close(made)
            except TimeoutError as error:
                if not bound.expired():
                    raise
                raise TimeoutError(f"a {type(made).__name__} did not close within {patience:g} seconds") from error


def _start(keeper: AsyncGenerator[None, None]) -> None:
    """Bring the generator to its ``yield``, which makes the running loop keep it in mind; it does not suspend."""
    with suppress(StopIteration, ResourceWarning):  # a warning: the loop has closed its generators already
        keeper.__anext__().send(None)


_all: WeakSet[PerLoop[Any]] = WeakSet()
#: What a forked child has of its parent's objects. Never freed: their finalizers would reach for the parent's sockets.
_inherited: list[object] = []


def _after_fork_in_child() -> None:
    for one in list(_all):
        _inherited.append(one._places)
        one._places = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
