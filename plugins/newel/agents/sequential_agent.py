"""SequentialAgent: runs its sub-agents one after another."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from newel import live
from newel.agents import base_agent
from newel.agents.escalation import leads_out_of, since_checkpoint
from newel.contexts.invocation_context import full_invocation
from newel.turns.pauses import pauses
from newel_kernel import Event, InvocationContext


class SequentialAgentState(base_agent.BaseAgentState):
    """The sub-agent that runs."""

    current_sub_agent: str = ""


class SequentialAgent(base_agent.BaseAgent):
    """Runs `sub_agents` in order, each on the same branch."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        ctx = full_invocation(ctx)
        state = self._load_agent_state(ctx, SequentialAgentState)
        names = [agent.name for agent in self.sub_agents]
        start = names.index(state.current_sub_agent) if state and state.current_sub_agent in names else 0
        left = state is not None and any(leads_out_of(self, one) for one in since_checkpoint(self, ctx))
        for index, agent in enumerate(() if left else self.sub_agents[start:], start):
            resuming = state is not None and index == start
            if resuming and ctx.end_of_agents.get(agent.name):
                continue
            if ctx.is_resumable and not resuming:
                ctx.set_agent_state(self.name, agent_state=SequentialAgentState(current_sub_agent=agent.name))
                yield self._create_agent_state_event(ctx)
            async with aclosing(agent.run_async(ctx)) as events:
                async for event in events:
                    yield event
                    left = left or leads_out_of(self, event)
            if pauses(ctx):
                return
            if left:
                break
        if ctx.is_resumable and self.sub_agents:
            ctx.set_agent_state(self.name, end_of_agent=True)
            yield self._create_agent_state_event(ctx)

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run each agent over its own connection, until it says that its task is completed."""
        own = base_agent.BaseAgent._run_live_impl
        for agent in self.sub_agents:
            if getattr(type(agent), "_run_live_impl", own) is own:
                live.has_no_live_mode(agent)  # before anything has begun
        ctx.stash[live.IN_SEQUENCE] |= {agent.name for agent in self.sub_agents}
        for agent in self.sub_agents:
            async with aclosing(agent.run_async(ctx)) as events:
                async for event in events:
                    yield event
