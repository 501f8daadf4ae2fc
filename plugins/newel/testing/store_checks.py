"""What the conformance kits of stores share: a place of its own for each check, and one report of what fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, Generic, TypeVar

from newel.testing.processes import CAN_FORK
from newel_kernel import seam

S = TypeVar("S")
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
            if (close := getattr(self._open.pop(), "close", None)) is not None:
                await close()


def new_app() -> str:
    """The name of an app that no other check has."""
    return f"conformance-{seam.new_id()}-{next(_places)}"


def in_places(
    checks: Mapping[str, Callable[[StorePlace[S]], Awaitable[None]]], make: Callable[[], S]
) -> dict[str, Callable[[], None]]:
    """The checks by name, each to be called without arguments, in an app of its own."""

    def runner(check: Callable[[StorePlace[S]], Awaitable[None]]) -> Callable[[], None]:
        async def run() -> None:
            place = StorePlace(make, new_app())
            try:
                await check(place)
            finally:
                await place.close()

        return lambda: asyncio.run(run())

    return {name: runner(check) for name, check in checks.items()}


def in_processes(
    checks: Mapping[str, Callable[[Callable[[], S], str], None]], make: Callable[[], S]
) -> dict[str, Callable[[], None]]:
    """The checks that fork processes, by name, each to be called without arguments; none if processes cannot fork."""
    if not CAN_FORK:
        return {}

    def runner(check: Callable[[Callable[[], S], str], None]) -> Callable[[], None]:
        return lambda: check(make, new_app())

    return {name: runner(check) for name, check in checks.items()}


def run_all(checks: Mapping[str, Callable[[], None]], subject: str) -> None:
    """Run the checks of a `subject`, such as "session store"; one AssertionError names all that fail."""
    problems = []
    for name, check in checks.items():
        try:
            check()
        except Exception as error:  # noqa: BLE001 - a store's own errors; all are reported together
            problems.append(f"{name}: {type(error).__name__}: {error}")
    if problems:
        raise AssertionError("the {} fails {} check(s):\n{}".format(subject, len(problems), "\n".join(problems)))
