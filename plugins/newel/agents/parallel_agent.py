"""ParallelAgent: runs its sub-agents side by side, each on a branch of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from newel.agents import base_agent
from newel.contexts.invocation_context import full_invocation
from newel.turns.pauses import pauses
from newel_kernel import BaseAgent, Event, InvocationContext, merge_streams


class ParallelAgent(base_agent.BaseAgent):
    """Runs `sub_agents` concurrently. None sees the events of another; an agent that runs later sees them all.

    In a resumable app it has ended when each sub-agent has; one whose callback answered early has not.
    """

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        if not self.sub_agents:
            return
        ctx = full_invocation(ctx)
        if ctx.is_resumable and self.name not in ctx.agent_states:
            ctx.set_agent_state(self.name, agent_state=base_agent.BaseAgentState())
            yield self._create_agent_state_event(ctx)
        waiting = [agent for agent in self.sub_agents if not ctx.end_of_agents.get(agent.name)]
        async with aclosing(merge_streams([agent.run_async(_branch(self, ctx, agent)) for agent in waiting])) as events:
            async for event in events:
                yield event
        ended = all(
            ctx.end_of_agents.get(a.name) or not getattr(a.__newel__, "notes_end", True) for a in self.sub_agents
        )
        if ctx.is_resumable and ended and not pauses(ctx):
            ctx.set_agent_state(self.name, end_of_agent=True)
            yield self._create_agent_state_event(ctx)


def _branch(parallel: ParallelAgent, ctx: InvocationContext, agent: BaseAgent) -> InvocationContext:
    name = f"{parallel.name}.{agent.name}"
    return ctx.model_copy(update={"branch": f"{ctx.branch}.{name}" if ctx.branch else name, "agent": agent})
