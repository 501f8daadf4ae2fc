"""live_conformance: what every live connection does, whichever provider it goes to, with every fault of its service.

for case in live_conformance(MyDialect()):
    case()
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from newel_testkit.live import cases_of_ends, cases_of_faults, cases_of_runs, cases_of_talk
from newel_testkit.live.bench import Bench, Run
from newel_testkit.live.dialects import Dialect

#: How long a case may take, in seconds.
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Case:
    """One case for one dialect. Calling it runs it, outside of any event loop; an AssertionError says what is wrong."""

    name: str
    dialect: Dialect
    run: Run

    def __str__(self) -> str:
        return f"{self.dialect.name}-{self.name}"

    def __call__(self) -> None:
        with self.dialect.serving() as server:
            asyncio.run(self._run(Bench(self.dialect, server)))
            server.settle()
            refused = [reason for one in server.connections for reason in one.refused]
            assert not refused, f"the service refused: {refused}"

    async def _run(self, bench: Bench) -> None:
        async with asyncio.timeout(_PATIENCE):
            await self.run(bench)
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            _, others = await asyncio.wait(others, timeout=2)
        assert not others, f"tasks are left: {others}"


def live_conformance(dialect: Dialect) -> list[Case]:
    """The cases for a dialect."""
    return [
        Case(name.replace("_", " "), dialect, run)
        for module in (cases_of_talk, cases_of_faults, cases_of_ends, cases_of_runs)
        for name, run in module.CASES.items()
        if dialect.resumes or name not in module.RESUMING
    ]
