"""Late answers: the reply to a user whose answer came after another one to the same question."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import ClassVar

from newel.contexts.invocation_context import full_invocation
from newel.questions.precedence import refusal
from newel.questions.question import find_question
from newel_kernel import AgentDriver, BaseAgent, Event, InvocationContext, Log, Operation


class RefusalDriver(AgentDriver):
    """Runs a refusal: the only callbacks around it are those of its agent."""

    __slots__ = ()

    def enter(self, parent_context: InvocationContext, within: Operation | None = None) -> AsyncGenerator[Event, None]:
        """The events of the refusal."""
        refusal: Refusal = self.agent
        return refusal._run_async_impl(parent_context)


class Refusal(BaseAgent):
    """Takes the turn of `agent`: reports which questions were answered before, and runs the agent if more came in.

    The questions `again` had answers in a run that failed. If running the agent yields nothing, they are reported, too.
    """

    __newel_driver__: ClassVar[type[AgentDriver]] = RefusalDriver

    agent: BaseAgent
    late: list[str]
    again: list[str]
    goes_on: bool

    @property
    def root_agent(self) -> BaseAgent:
        """The root of the tree in which `agent` is."""
        return self.agent.root_agent

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        log = Log(ctx.session.events)
        for event in _refusals(ctx, log, self.late):
            yield event
        silent = True
        if self.goes_on:
            async with aclosing(self.agent.run_async(ctx)) as events:
                async for event in events:
                    silent = False
                    yield event
        elif full_invocation(ctx).is_resumable and not ctx.resumed:
            end = Event(invocation_id=ctx.invocation_id, author=self.agent.name, branch=ctx.branch)
            end.actions.end_of_agent = True
            yield end
        for event in _refusals(ctx, log, self.again) if silent else ():
            yield event


def _refusals(ctx: InvocationContext, log: Log, ids: list[str]) -> list[Event]:
    return [refusal(ctx, place[1] if (place := find_question(log, id_)) is not None else None, id_) for id_ in ids]
