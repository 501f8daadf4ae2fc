"""LoopAgent: runs its sub-agents again and again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import islice
from typing import ClassVar

from newel.agents import base_agent
from newel.agents.escalation import escalates, is_loop, leads_out_of, since_checkpoint
from newel.contexts.invocation_context import InvocationContext, full_invocation
from newel.turns.pauses import pauses
from newel.turns.steps import StepLimitError, failure_event, steps_of
from newel_kernel import Event, Key, subtree
from newel_kernel import InvocationContext as KernelInvocationContext

#: The ids of events whose escalation a loop has answered, so that an enclosing loop continues.
_ANSWERED = Key[set[str]]("answered escalations", set)


class LoopAgentState(base_agent.BaseAgentState):
    """The sub-agent that runs, and how many rounds are complete."""

    current_sub_agent: str = ""
    times_looped: int = 0


class LoopAgent(base_agent.BaseAgent):
    """Runs `sub_agents` in rounds until one escalates or `max_iterations` rounds are done.

    An escalation ends the innermost loop; with the name of a loop further out as `actions.route`, that one.
    """

    __newel_is_loop__: ClassVar[bool] = True

    #: How many rounds at most; None: until a sub-agent escalates.
    max_iterations: int | None = None

    async def _run_async_impl(self, ctx: KernelInvocationContext) -> AsyncGenerator[Event, None]:
        if not self.sub_agents:
            return
        ctx = full_invocation(ctx)
        state = self._load_agent_state(ctx, LoopAgentState)
        leave = _take_up(self, ctx) if state is not None else False
        rounds, start, resuming = _position(self, ctx, state)
        first = rounds
        while not leave and (not self.max_iterations or rounds < self.max_iterations):
            if (error := _spent(self, ctx, rounds - first)) is not None:
                yield failure_event(ctx, self.name, error)
                raise error
            for agent in self.sub_agents[start:]:
                steps_of(ctx).taken += 1
                if ctx.is_resumable and not resuming:
                    checkpoint = LoopAgentState(current_sub_agent=agent.name, times_looped=rounds)
                    ctx.set_agent_state(self.name, agent_state=checkpoint)
                    yield self._create_agent_state_event(ctx)
                resuming = False
                async with aclosing(agent.run_async(ctx)) as events:
                    async for event in events:
                        leave = _escalates(self, ctx, event) or leave  # before a loop around this one sees the event
                        yield event
                if pauses(ctx):
                    return
                if leave:
                    break
            start = 0
            rounds += 1
            _forget(ctx, self)
        if ctx.is_resumable:
            ctx.set_agent_state(self.name, end_of_agent=True)
            yield self._create_agent_state_event(ctx)


def _take_up(loop: LoopAgent, ctx: InvocationContext) -> bool:
    """Forget the checkpoints of earlier rounds, which the log also holds; return whether this round escalated."""
    since = list(since_checkpoint(loop, ctx))
    begun = {event.author for event in since}
    for agent in islice(subtree(loop), 1, None):
        if agent.name not in begun:
            ctx.set_agent_state(agent.name)
    return any(_is_exited_by(loop, event) for event in since)


def _is_exited_by(loop: LoopAgent, event: Event) -> bool:
    """Whether `event` escalates out of this loop, and no loop inside answers it."""
    if not escalates(event):
        return False
    agent = loop.find_sub_agent(event.author)
    while agent is not None and agent is not loop and (not is_loop(agent) or leads_out_of(agent, event)):
        agent = agent.parent_agent
    return agent is loop


def _position(loop: LoopAgent, ctx: InvocationContext, state: LoopAgentState | None) -> tuple[int, int, bool]:
    """The number of complete rounds, the index of the sub-agent to begin with, and whether it had already begun."""
    names = [agent.name for agent in loop.sub_agents]
    if state is None or state.current_sub_agent not in names:
        return state.times_looped if state is not None else 0, 0, False
    index = names.index(state.current_sub_agent)
    if ctx.end_of_agents.get(state.current_sub_agent):
        return state.times_looped, index + 1, False
    return state.times_looped, index, True


def _escalates(loop: LoopAgent, ctx: InvocationContext, event: Event) -> bool:
    """Whether `event` ends this loop: it escalates, and no loop inside has answered it."""
    if not escalates(event) or event.id in (answered := ctx.stash[_ANSWERED]):
        return False
    if not leads_out_of(loop, event):
        answered.add(event.id)
    return True


def _forget(ctx: InvocationContext, loop: LoopAgent) -> None:
    """Drop the checkpoints below the loop: in the next round everything starts from the beginning."""
    for one in islice(subtree(loop), 1, None):
        ctx.set_agent_state(one.name)


def _spent(loop: LoopAgent, ctx: InvocationContext, rounds: int) -> StepLimitError | None:
    """The error if the loop, which has turned `rounds` times in this run, must not turn again."""
    steps = steps_of(ctx)
    if not rounds or loop.max_iterations or not steps.spent():
        return None
    return steps.error(f"the loop {loop.name!r} has turned {rounds} times and was about to turn again")
