"""Children: the runs that a node's code started. None outlives the run that started it."""

from __future__ import annotations

import asyncio
from typing import Generic, Protocol, TypeVar

from newel.workflow.outcome import Outcome
from newel.workflow.place import Place


class Child(Protocol):
    """A run that code started."""

    place: Place
    outcome: Outcome
    #: The task that drives it; None if its outcome is in the journal.
    task: asyncio.Task[None] | None


R = TypeVar("R", bound=Child)


class Children(Generic[R]):
    """The runs by their path, and how many of them were counted of each node's name."""

    __slots__ = ("_counts", "_runs")

    def __init__(self) -> None:
        self._runs: dict[str, R] = {}
        self._counts: dict[str, int] = {}

    def next_id(self, name: str) -> str:
        """The id of the next run of the node of that name."""
        count = self._counts[name] = self._counts.get(name, 0) + 1
        return str(count)

    def get(self, path: str) -> R | None:
        """The run of that path, if it was started."""
        return self._runs.get(path)

    def add(self, path: str, run: R) -> None:
        """Add a run that was started."""
        self._runs[path] = run

    async def end(self, *, cancel: bool) -> None:
        """Wait for the runs that the node's code did not await; cancel them first, if it failed."""
        tasks = [run.task for run in self._runs.values() if run.task is not None and not run.task.done()]
        for task in tasks if cancel else ():
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)

    def adopt(self, outcome: Outcome) -> None:
        """Add their open questions, and a delegated output, to the outcome of the run that started them."""
        for run in self._runs.values():
            if run.outcome.interrupts and not outcome.produced:
                outcome.ask(run.outcome.interrupts)
            if outcome.delegated and not outcome.produced and run.place.terminal and run.outcome.produced:
                outcome.give(run.outcome.output)
