"""artifact_conformance: checks that a store of artifacts does what newel needs of one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import TypeAlias

from newel.testing.artifacts.checks import CHECKS, SHARED_CHECKS
from newel.testing.artifacts.place import ArtifactPlace, MakeArtifactStore
from newel_kernel import seam

_Check: TypeAlias = Callable[[ArtifactPlace], Awaitable[None]]
_places = count(1)


def artifact_checks(make: MakeArtifactStore, *, shared: bool = True) -> Mapping[str, Callable[[], None]]:
    """The checks of a store by name: each is called without arguments and raises AssertionError where it fails.

    `make` makes a service over one place that the checks share: each has an app of its own there. Where services do
    not share a place (`shared` is False) those that need two are left out.
    """
    chosen = {**CHECKS, **(SHARED_CHECKS if shared else {})}
    return {name: _runner(check, make) for name, check in chosen.items()}


def artifact_conformance(make: MakeArtifactStore, *, shared: bool = True) -> None:
    """Run every check of `artifact_checks`; one AssertionError names all that fail."""
    problems = []
    for name, check in artifact_checks(make, shared=shared).items():
        try:
            check()
        except Exception as error:  # noqa: BLE001 - a store's own errors; all are told together
            problems.append(f"{name}: {type(error).__name__}: {error}")
    if problems:
        raise AssertionError("the artifact store fails {} check(s):\n{}".format(len(problems), "\n".join(problems)))


def _runner(check: _Check, make: MakeArtifactStore) -> Callable[[], None]:
    async def run() -> None:
        place = ArtifactPlace(make, f"conformance-{seam.new_id()}-{next(_places)}")
        try:
            await check(place)
        finally:
            await place.close()

    return lambda: asyncio.run(run())
