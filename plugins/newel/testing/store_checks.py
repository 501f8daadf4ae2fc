"""What the conformance kits of stores share: a place of its own for each check, and one report of what fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from newel_kernel import seam


class Closable(Protocol):
    """A store that is closed after use."""

    async def close(self) -> None:
        """Release what it holds."""


S = TypeVar("S", bound=Closable)
_places = count(1)


class StorePlace(Generic[S]):
    """An app of its own in the place that all services of `make` share."""

    def __init__(self, make: Callable[[], S], app: str) -> None:
        self._make = make
        self._open: list[S] = []
        self.app = app

    def service(self) -> S:
        """A further service; it is closed at the end."""
        self._open.append(self._make())
        return self._open[-1]

    def at(self, session_id: str | None = "s", user_id: str = "u") -> dict[str, Any]:
        """The arguments that name a session."""
        return {"app_name": self.app, "user_id": user_id, "session_id": session_id}

    async def close(self) -> None:
        """Close the services."""
        while self._open:
            await self._open.pop().close()


def in_places(
    checks: Mapping[str, Callable[[StorePlace[S]], Awaitable[None]]], make: Callable[[], S]
) -> dict[str, Callable[[], None]]:
    """The checks by name, each to be called without arguments, in an app of its own."""

    def runner(check: Callable[[StorePlace[S]], Awaitable[None]]) -> Callable[[], None]:
        async def run() -> None:
            place = StorePlace(make, f"conformance-{seam.new_id()}-{next(_places)}")
            try:
                await check(place)
            finally:
                await place.close()

        return lambda: asyncio.run(run())

    return {name: runner(check) for name, check in checks.items()}


def run_all(checks: Mapping[str, Callable[[], None]], kind: str) -> None:
    """Run the checks of a store of a `kind`; one AssertionError names all that fail."""
    problems = []
    for name, check in checks.items():
        try:
            check()
        except Exception as error:  # noqa: BLE001 - a store's own errors; all are reported together
            problems.append(f"{name}: {type(error).__name__}: {error}")
    if problems:
        raise AssertionError("the {} store fails {} check(s):\n{}".format(kind, len(problems), "\n".join(problems)))
