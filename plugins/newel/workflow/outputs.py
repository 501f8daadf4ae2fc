"""Outputs: those of a graph's terminal nodes. A graph has one: a second is refused before either is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from newel.workflow.node_run import NodeRun
from newel.workflow.place import Place
from newel_kernel import Event


@dataclass(frozen=True, slots=True)
class PendingOutput:
    """Events that hold an output. They are not committed before it is certain that it is the only one."""

    events: list[Event]
    #: The run that ends with them, if it has no task.
    run: NodeRun | None = None
    #: What their producer waits for, if it is a task.
    committed: asyncio.Future[None] | None = None


class Outputs:
    """The outputs of the graph `name` at `place`, by the names of the nodes that gave them."""

    __slots__ = ("_name", "_path", "by_name", "held", "several", "waiting")

    def __init__(self, name: str, place: Place, several: bool) -> None:
        self._name = name
        self._path = place.path
        self.by_name: dict[str, object] = {}
        self.held: list[PendingOutput] = []
        #: Whether several nodes may give one.
        self.several = several
        #: How many producers wait for their outputs to be released.
        self.waiting = 0

    def add(self, name: str, output: object) -> None:
        """Add an output; ValueError if there is another."""
        self.by_name[name] = output
        if len(self.by_name) > 1:
            raise self._too_many(self.by_name)

    def holds(self, event: Event) -> bool:
        """Whether `event` holds an output of the graph."""
        return not event.partial and self._path in (event.node_info.output_for or ())

    def check(self, name: str, event: Event) -> None:
        """Refuse an event of the node `name` that holds an output, if another node gave one."""
        if self.by_name.keys() - {name} and self.holds(event):
            raise self._too_many({*self.by_name, name})

    def hold(self, output: PendingOutput) -> None:
        """Keep an output back while others may come; ValueError if there are two."""
        self.held.append(output)
        self.waiting += output.committed is not None
        names = set(self.by_name)
        prefix = len(self._path) + 1
        outputs = [event for entry in self.held for event in entry.events if self.holds(event)]
        names.update(event.node_info.path[prefix:].split("/")[0].rpartition("@")[0] for event in outputs)
        if len(names) > 1:
            raise self._too_many(names)

    def release(self) -> list[PendingOutput]:
        """The outputs that were held, now that no other can come."""
        held, self.held = self.held, []
        return held

    def unblock(self, output: PendingOutput) -> None:
        """Let the producer of events that are committed go on."""
        if output.committed is not None:
            self.waiting -= 1
            if not output.committed.done():
                output.committed.set_result(None)

    def _too_many(self, names: Iterable[str]) -> ValueError:
        return ValueError(
            f"workflow {self._name!r}: the terminal nodes {sorted(names)} each gave an output, "
            f"and a workflow has at most one: join them, or let only one give an output"
        )
