"""engine_conformance: checks that an engine does what newel needs of one."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping

from newel.testing.engines.answers import ANSWER_CHECKS
from newel.testing.engines.checks import CHECKS
from newel.testing.engines.endings import ENDING_CHECKS
from newel.testing.engines.place import EnginePlace, MakeEngine, MakeSessions
from newel.testing.engines.processes import PROCESS_CHECKS
from newel.testing.engines.specs import SPEC_CHECKS
from newel.testing.store_checks import new_app, run_all


def engine_checks(make: MakeEngine, sessions: MakeSessions) -> Mapping[str, Callable[[], None]]:
    """The checks of an engine by name: each is called without arguments and raises AssertionError if it fails.

    `make` opens the engine, and `sessions` a durable store of sessions that several processes can use, each time at
    the same place; each check has its own app there. Both are pickled: workers run in processes of their own, too. An
    engine of one process (`BaseEngine.in_process`) is spared these, and may have any store.
    """

    def runner(check: Callable[[EnginePlace], Awaitable[None]]) -> Callable[[], None]:
        async def run() -> None:
            place = EnginePlace(make, sessions, new_app())
            try:
                await check(place)
            finally:
                await place.close()
                shutil.rmtree(place.folder, ignore_errors=True)

        return lambda: asyncio.run(run())

    checks = {**CHECKS, **SPEC_CHECKS, **ANSWER_CHECKS, **ENDING_CHECKS}
    if not make().in_process:
        checks |= PROCESS_CHECKS
    return {name: runner(check) for name, check in checks.items()}


def engine_conformance(make: MakeEngine, sessions: MakeSessions) -> None:
    """Run every check of `engine_checks`; one AssertionError names all that fail."""
    run_all(engine_checks(make, sessions), "engine")
