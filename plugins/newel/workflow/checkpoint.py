"""Checkpoint: the runs that ended since the last event. The next event that is committed carries it."""

from __future__ import annotations

from newel.workflow.place import Place
from newel_kernel import Event, EventActions, Json, NodeInfo


class Checkpoint:
    """The runs that ended, by their path, each with its NodeState."""

    __slots__ = ("ended", "silent")

    def __init__(self) -> None:
        self.ended: dict[str, Json] = {}
        #: Whether one of them is recorded nowhere else.
        self.silent = False

    def note(self, path: str, state: Json, silent: bool) -> None:
        """Record the end of a run; `silent`: only the checkpoint records it."""
        self.ended[path] = state
        if silent:
            self.silent = True

    def pin(self, event: Event) -> None:
        """Put the checkpoint onto `event`, which is about to be committed, unless it is empty; begin another."""
        if self.ended and not event.partial:
            event.node_info.nodes = self.ended
            self.ended, self.silent = {}, False

    def event(self, place: Place, invocation_id: str) -> Event:
        """An event of the checkpoint alone, from `place`."""
        event = Event(
            invocation_id=invocation_id,
            author=place.author,
            branch=place.branch,
            node_info=NodeInfo(path=place.path),
            actions=EventActions(agent_state={"nodes": self.ended}),
            isolation_scope=place.scope,
        )
        self.ended, self.silent = {}, False
        return event
