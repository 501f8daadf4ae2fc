"""Entry: the mode in which a worker's run begins, by the id that its spec gives it, or resumes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING

from newel.contexts.invocation_context import InvocationContext, full_invocation
from newel.contexts.stash_keys import MOVES
from newel.turns.resumption import PAUSES, RESUMABLE
from newel_kernel import BaseAgent, Event, NewelError
from newel_kernel import InvocationContext as KernelInvocationContext

if TYPE_CHECKING:
    from newel.engines.stepping import Stepping


class BegunError(NewelError):
    """Another worker has begun the invocation meanwhile: it is to be resumed."""


class Entry:
    """How a worker's run enters its session: as any other, but in an app whose invocations pause and resume."""

    def __init__(
        self,
        begins: str | None = None,
        moves: Callable[[], bool] | None = None,
        stepping: Stepping | None = None,
    ) -> None:
        #: The id of the invocation that begins; None: one is resumed, or answered.
        self._begins = begins
        #: Whether a cancelled run goes on at another worker.
        self._moves = moves
        #: Where its calls wait, if they do.
        self._stepping = stepping
        self.context: InvocationContext | None = None

    def enter(self, ctx: KernelInvocationContext) -> None:
        """Set up the context; from here on the run is in no mode."""
        self.context = full = full_invocation(ctx)
        if self._begins is not None:
            if any(event.invocation_id == self._begins for event in ctx.session.events):
                raise BegunError(self._begins)
            ctx.invocation_id = self._begins
            if not full.is_resumable:  # the message alone says so: each other event has its run's own metadata
                noted = {**(ctx.run_config.custom_metadata or {}), PAUSES: True}
                ctx.run_config = ctx.run_config.model_copy(update={"custom_metadata": noted})
        full.resumability_config = RESUMABLE
        if self._moves is not None:
            ctx.stash[MOVES] = self._moves
        if self._stepping is not None:
            self._stepping.begin(ctx)
        ctx.mode = None

    def start(self, agent: BaseAgent, ctx: KernelInvocationContext) -> AsyncGenerator[Event, None]:
        """Not called: the context has no mode."""
        raise NotImplementedError

    def stores(self, event: Event) -> bool:
        """All of them."""
        return True

    def finish(self, ctx: KernelInvocationContext, error: BaseException | None) -> bool:
        """Not called either."""
        return True
