"""Tree: the state that all runs of one graph share, those of nested graphs included."""

from __future__ import annotations

from newel.contexts.invocation_context import full_invocation
from newel.turns.steps import steps_of
from newel.workflow.checkpoint import Checkpoint
from newel.workflow.journal import Journal, journal_of
from newel.workflow.place import Place
from newel_kernel import Event, InvocationContext, cancellations


class Tree:
    """The invocation, its journal, and the checkpoint."""

    __slots__ = ("_cancellations", "checkpoint", "invocation", "invocation_id", "journal", "steps")

    def __init__(self, invocation: InvocationContext) -> None:
        self.invocation = full_invocation(invocation)
        self.invocation_id = invocation.invocation_id
        self.journal: Journal | None = journal_of(invocation)
        self.checkpoint = Checkpoint()
        self.steps = steps_of(invocation)
        #: Cancellations of the task from before the graph ran: they are not the graph's.
        self._cancellations = cancellations()

    @property
    def cancelled(self) -> bool:
        """Whether the current run was cancelled, even if its code turned that into something else."""
        return cancellations() > self._cancellations

    @property
    def resumable(self) -> bool:
        """Whether the app's invocations resume."""
        return self.invocation.is_resumable

    def checkpoint_event(self, place: Place) -> Event:
        """An event of the checkpoint alone, from `place`."""
        return self.checkpoint.event(place, self.invocation_id)
