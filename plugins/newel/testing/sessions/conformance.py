"""session_conformance: checks that a session store does what newel needs of it, and what it claims to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from importlib.util import find_spec

from newel.sessions.contract import SharedSessionStore
from newel.testing import sessions
from newel.testing.sessions.fields import FIELD_CHECKS
from newel.testing.sessions.place import MakeStore
from newel.testing.sessions.processes import DURABLE_CHECKS, PROCESS_CHECKS
from newel.testing.sessions.races import RACE_CHECKS, SHARED_RACE_CHECKS
from newel.testing.sessions.shared import SHARED_CHECKS
from newel.testing.sessions.single import CHECKS
from newel.testing.store_checks import in_places, in_processes, run_all
from newel_kernel import ConfigurationError


def session_checks(make: MakeStore, *, examples: int = 20) -> Mapping[str, Callable[[], None]]:
    """The checks of a store by name: each is called without arguments and raises AssertionError if it fails.

    `make` makes a service. All services share one place, in which each check has its own app. Checks that need two
    services are left out if the store's `capabilities` say that it is not `shared`; those that kill processes, if it
    is not `durable`, or processes cannot be forked here. The check ``machine`` plays random calls against a model of
    the contract, with hypothesis: `examples` sequences of up to 20 calls.
    """

    async def traits() -> tuple[bool, bool, bool]:
        store = make()
        try:
            return store.capabilities.durable, store.capabilities.shared, isinstance(store, SharedSessionStore)
        finally:
            await store.close()

    durable, shared, leases = asyncio.run(traits())
    if shared and not leases:
        raise ConfigurationError("a store whose capabilities are `shared` is a newel.sessions.SharedSessionStore")
    checks = {**CHECKS, **FIELD_CHECKS, **RACE_CHECKS, **(SHARED_CHECKS | SHARED_RACE_CHECKS if shared else {})}
    of_processes = (DURABLE_CHECKS if durable else {}) | (PROCESS_CHECKS if shared else {})
    return in_places(checks, make) | in_processes(of_processes, make) | {"machine": lambda: _play(make, examples)}


def session_conformance(make: MakeStore, *, examples: int = 20) -> None:
    """Run every check of `session_checks`; one AssertionError names all that fail."""
    run_all(session_checks(make, examples=examples), "session store")


def _play(make: MakeStore, examples: int) -> None:
    if find_spec("hypothesis") is None:
        raise ConfigurationError("the check `machine` needs hypothesis: pip install hypothesis")
    sessions.play(make, examples)
