"""Tree: what all runs of one graph, nested ones included, share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from newel.workflow.journal import Journal, journal_of
from newel_kernel import Event, EventActions, InvocationContext, NodeInfo

if TYPE_CHECKING:
    from newel.workflow.node_run import NodeRun


class Tree:
    """The invocation, what its journal says, and the checkpoint: which runs ended since the last event."""

    __slots__ = ("_cancellations", "checkpoint", "invocation", "invocation_id", "journal", "silent")

    def __init__(self, invocation: InvocationContext) -> None:
        self.invocation = invocation
        self.invocation_id = invocation.invocation_id
        self.journal: Journal | None = journal_of(invocation)
        self.checkpoint: dict[str, dict[str, Any]] = {}
        #: Whether the checkpoint has the end of a run that left no other trace.
        self.silent = False
        #: Those that whoever runs the graph had not honoured: they do not concern what it runs now.
        self._cancellations = _cancellations()

    @property
    def cancelled(self) -> bool:
        """Whether the run at work was cancelled, even where its code made something else of that."""
        return _cancellations() > self._cancellations

    def pin(self, event: Event) -> None:
        """Put the checkpoint onto `event`, which is about to be committed; the next one says only what is new."""
        if event.partial:
            return
        event.node_info.nodes = self.checkpoint
        self.checkpoint, self.silent = {}, False

    @property
    def resumable(self) -> bool:
        """Whether the app's invocations resume."""
        return self.invocation.is_resumable

    def checkpoint_event(self, run: NodeRun) -> Event:
        """An event of the checkpoint alone, by the graph that `run` is a run of."""
        event = Event(
            invocation_id=self.invocation_id, author=run.author, branch=run.branch, node_info=NodeInfo(path=run.path),
            actions=EventActions(agent_state={"nodes": self.checkpoint}),
        )  # fmt: skip
        event.isolation_scope = run.scope
        self.checkpoint, self.silent = {}, False
        return event


def _cancellations() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
