"""Handovers: whether a resumed agent continues, or an agent that it transferred to, or neither.

Specified in docs/reference/behaviour.md#pause-and-resume.
"""

from __future__ import annotations

from collections.abc import Sequence

from newel.contexts.invocation_context import full_invocation
from newel_kernel import BaseAgent, Event, InvocationContext, Key, Log

#: The names of the agents that were taken up in this run of the invocation.
_RESUMED_AGENTS = Key[set[str]]("resumed agents", set)


def handed_over(agent: BaseAgent, ctx: InvocationContext) -> BaseAgent | None:
    """The agent whose turn it is in a resumed invocation; returned once, to the agent with which the invocation began.

    This also holds in an app that is not resumable, if a graph below that agent waits.
    """
    if ctx.node_path is not None or ctx.opening is not None or agent.name in ctx.stash[_RESUMED_AGENTS]:
        return None
    ctx.stash[_RESUMED_AGENTS].add(agent.name)
    return transferred_to(agent, ctx)


def transferred_to(agent: BaseAgent, ctx: InvocationContext) -> BaseAgent | None:
    """The agent that `agent` handed over to, if the last word was not `agent`'s own."""
    root = agent.root_agent
    events = [  # what others have appended is nobody's word
        event
        for event in full_invocation(ctx).get_events(current_invocation=True, current_branch=True)
        if event.author == "user" or root.find_agent(event.author) is not None
    ]
    if not events:
        return None
    latest = events[-1]
    if latest.author == agent.name:
        return _target(agent, latest)
    if latest.author == "user" and (responses := latest.get_function_responses()):
        asker = Log(events).asker({response.id for response in responses})
        if asker is not None and asker.author == agent.name:
            return None
    return next((to for e in reversed(events) if e.author == agent.name and (to := _target(agent, e))), None)


def _target(agent: BaseAgent, event: Event) -> BaseAgent | None:
    actions = event.touched_actions
    if actions is None or not actions.transfer_to_agent or actions.transfer_to_agent == agent.name:
        return None
    return agent.root_agent.find_agent(actions.transfer_to_agent)


def has_finished(agent: BaseAgent, ctx: InvocationContext) -> bool:
    """Whether the agent's last event was its final answer, so that only the note of its end is missing."""
    events: Sequence[Event] = full_invocation(ctx).get_events(current_invocation=True)
    for event in reversed(events):
        if event.author == "user" and event.branch in (None, ctx.branch):
            return False
        if event.author == agent.name and event.branch == ctx.branch and event.content is not None:
            return event.is_final_response() and not event.long_running_tool_ids
    return False
