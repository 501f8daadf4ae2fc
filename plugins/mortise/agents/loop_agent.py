"""LoopAgent: runs its sub-agents again and again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from mortise_kernel.contracts.agent import BaseAgent, BaseAgentState
from mortise_kernel.events import Event
from mortise_kernel.invocation import InvocationContext

#: The events whose escalation a loop has answered, so that a loop around it goes on.
_ANSWERED = "loop_agent.answered_escalations"


class LoopAgentState(BaseAgentState):
    """The sub-agent that runs, and how many rounds are complete."""

    current_sub_agent: str = ""
    times_looped: int = 0


class LoopAgent(BaseAgent):
    """Runs `sub_agents` in rounds until one escalates or `max_iterations` rounds are done."""

    max_iterations: int | None = None

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        if not self.sub_agents:
            return
        state: LoopAgentState | None = self._load_agent_state(ctx, LoopAgentState)
        rounds, start = self._where(state)
        resuming = state is not None
        leave = paused = False
        while not leave and (not self.max_iterations or rounds < self.max_iterations):
            for agent in self.sub_agents[start:]:
                if ctx.is_resumable and not resuming:
                    checkpoint = LoopAgentState(current_sub_agent=agent.name, times_looped=rounds)
                    ctx.set_agent_state(self.name, agent_state=checkpoint)
                    yield self._state_event(ctx)
                resuming = False
                async with aclosing(agent.run_async(ctx)) as events:
                    async for event in events:
                        yield event
                        leave = _escalates(ctx, event) or leave
                        paused = paused or ctx.should_pause_invocation(event)
                if leave or paused:
                    break
            if paused:
                return
            start = 0
            rounds += 1
            for agent in self.sub_agents:
                _forget(ctx, agent)
        if ctx.is_resumable:
            ctx.set_agent_state(self.name, end_of_agent=True)
            yield self._state_event(ctx)

    def _where(self, state: LoopAgentState | None) -> tuple[int, int]:
        """The complete rounds, and the index of the sub-agent to begin with."""
        if state is None:
            return 0, 0
        names = [agent.name for agent in self.sub_agents]
        return state.times_looped, names.index(state.current_sub_agent) if state.current_sub_agent in names else 0


def _escalates(ctx: InvocationContext, event: Event) -> bool:
    """Whether `event` ends this loop: it escalates, and no loop inside has answered it."""
    actions = event.touched_actions
    if actions is None or not actions.escalate:
        return False
    answered: set[Any] = ctx.notes.setdefault(_ANSWERED, set())
    if event.id in answered:
        return False
    answered.add(event.id)
    return True


def _forget(ctx: InvocationContext, agent: BaseAgent) -> None:
    """Drop the checkpoints of a subtree: the next round starts it afresh."""
    ctx.set_agent_state(agent.name)
    for child in agent.sub_agents:
        _forget(ctx, child)
