"""ParallelAgent: runs its sub-agents side by side, each on a branch of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from newel.agents import base_agent
from newel.agents.escalation import escalates, since_checkpoint
from newel.agents.settings import PLUGIN, Settings
from newel.agents.siblings import Sibling, unfinished_results
from newel.contexts.invocation_context import full_invocation
from newel.turns.pauses import pauses
from newel_kernel import BaseAgent, Event, InvocationContext, merge_streams


class ParallelAgent(base_agent.BaseAgent):
    """Runs `sub_agents` concurrently. None sees the events of another; an agent that runs later sees them all.

    Once one escalates, the others stop, if the distribution's setting `agents: stop_siblings` says so. In a resumable
    app it has ended when each sub-agent has, or one has escalated; one whose callback answered early has not.
    """

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        if not self.sub_agents:
            return
        ctx = full_invocation(ctx)
        stops = ctx.composition.settings_of(PLUGIN, Settings).stop_siblings
        escalated = stops and ctx.resumed and any(map(escalates, since_checkpoint(self, ctx)))
        if ctx.is_resumable and self.name not in ctx.agent_states:
            ctx.set_agent_state(self.name, agent_state=base_agent.BaseAgentState())
            yield self._create_agent_state_event(ctx)
        waiting = [a for a in self.sub_agents if not (escalated or ctx.end_of_agents.get(a.name))]
        branches = [_branch(self, ctx, agent) for agent in waiting]
        streams = [agent.run_async(view) for agent, view in zip(waiting, branches, strict=True)]
        siblings = [Sibling(one, view.branch) for one, view in zip(streams, branches, strict=True)] if stops else []
        async with aclosing(merge_streams([one.run() for one in siblings] if stops else streams)) as events:
            async for event in events:
                if stops and escalates(event):
                    escalated = True
                    _stop_others(siblings, event)
                yield event
        if escalated:
            for event in await unfinished_results(ctx, siblings):
                yield event
        ended = escalated or all(
            ctx.end_of_agents.get(a.name) or not getattr(a.__newel__, "notes_end", True) for a in self.sub_agents
        )
        if ctx.is_resumable and ended and not pauses(ctx):
            ctx.set_agent_state(self.name, end_of_agent=True)
            yield self._create_agent_state_event(ctx)


def _stop_others(siblings: list[Sibling], event: Event) -> None:
    for sibling in siblings:
        if not f"{event.branch}.".startswith(f"{sibling.branch}."):
            sibling.stop()


def _branch(parallel: ParallelAgent, ctx: InvocationContext, agent: BaseAgent) -> InvocationContext:
    name = f"{parallel.name}.{agent.name}"
    return ctx.model_copy(update={"branch": f"{ctx.branch}.{name}" if ctx.branch else name, "agent": agent})
