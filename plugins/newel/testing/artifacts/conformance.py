"""artifact_conformance: checks that a store of artifacts does what newel needs of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from newel.testing.artifacts.checks import CHECKS, SHARED_CHECKS
from newel.testing.artifacts.place import MakeArtifactStore
from newel.testing.artifacts.saves import PROCESS_CHECKS, SAVE_CHECKS
from newel.testing.store_checks import in_places, in_processes, run_all


def artifact_checks(make: MakeArtifactStore, *, shared: bool = True) -> Mapping[str, Callable[[], None]]:
    """The checks of a store by name: each is called without arguments and raises AssertionError if it fails.

    `make` makes a service. All services share one place, in which each check has its own app. If services do not
    share a place (`shared` is False), the checks that need two, or a process that is killed, are left out.
    """
    checks = in_places({**CHECKS, **SAVE_CHECKS, **(SHARED_CHECKS if shared else {})}, make)
    return checks | in_processes(PROCESS_CHECKS if shared else {}, make)


def artifact_conformance(make: MakeArtifactStore, *, shared: bool = True) -> None:
    """Run every check of `artifact_checks`; one AssertionError names all that fail."""
    run_all(artifact_checks(make, shared=shared), "artifact store")
