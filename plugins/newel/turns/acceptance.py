"""Acceptance: a resumed run makes the answers its own that were stored while no run had the session.

Its note says so before anything happens. If another run finds the note, this one may have begun what they allow.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import ClassVar

from newel.questions.precedence import MESSAGES, TAKEN_IN, Work, note_work
from newel_kernel import AgentDriver, BaseAgent, Event, InvocationContext, Operation


class AcceptanceDriver(AgentDriver):
    """Runs an acceptance: the only callbacks around it are those of its agent."""

    __slots__ = ()

    def enter(self, parent_context: InvocationContext, within: Operation | None = None) -> AsyncGenerator[Event, None]:
        """The note, and the events of the agent."""
        acceptance: Acceptance = self.agent
        return acceptance._run_async_impl(parent_context)


class Acceptance(BaseAgent):
    """Takes the turn of `agent`, which acts on `answers` as if they came with the message of its run."""

    __newel_driver__: ClassVar[type[AgentDriver]] = AcceptanceDriver

    agent: BaseAgent
    answers: list[Event]

    @property
    def root_agent(self) -> BaseAgent:
        """The root of the tree in which `agent` is."""
        return self.agent.root_agent

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        ids = [event.id for event in self.answers]
        yield Event(invocation_id=ctx.invocation_id, author=self.agent.name, custom_metadata={TAKEN_IN: ids})
        ctx.stash[MESSAGES] = self.answers
        note_work(ctx, Work.RUNNING)
        async with aclosing(self.agent.run_async(ctx)) as events:
            async for event in events:
                yield event
