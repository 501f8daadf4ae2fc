"""Where a resumed agent goes on: with an agent that it transferred to, with itself, or nowhere (S0 §10.2)."""

from __future__ import annotations

from collections.abc import Sequence

from newel_kernel import BaseAgent, Event, InvocationContext, Key, conversing_node, find_call_event, waits

#: The names of the agents that were taken up in this run of the invocation.
_TAKEN_UP = Key[set[str]]("agents that were taken up", set)


def pauses(ctx: InvocationContext) -> bool:
    """Whether something in this agent's run waits: for an answer, or, a graph's node, for what the user says to it.

    Nothing does in an app that is not resumable.
    """
    if waits(ctx) or not ctx.is_resumable or ctx.isolation_scope is not None:
        return bool(waits(ctx))
    talks = conversing_node(ctx.session.events)
    if talks is None or talks.invocation_id != ctx.invocation_id:
        return False
    return not ctx.branch or f"{talks.branch}.".startswith(f"{ctx.branch}.")


def handed_over(agent: BaseAgent, ctx: InvocationContext) -> BaseAgent | None:
    """The agent that has the word where an invocation is taken up, once, by the one that it began with.

    So it is in an app that is not resumable, too, where a graph below that agent waits.
    """
    if ctx.node_path is not None or ctx.opening is not None or agent.name in ctx.stash[_TAKEN_UP]:
        return None
    ctx.stash[_TAKEN_UP].add(agent.name)
    return transferred_to(agent, ctx)


def transferred_to(agent: BaseAgent, ctx: InvocationContext) -> BaseAgent | None:
    """The agent that `agent` handed over to, where that one had the last word and not `agent` itself."""
    events = ctx.get_events(current_invocation=True, current_branch=True)
    if not events:
        return None
    latest = events[-1]
    if latest.author == agent.name:
        return _target(agent, latest)
    if latest.author == "user" and (responses := latest.get_function_responses()):
        asked = find_call_event(events, {response.id for response in responses})
        if asked is not None and asked.author == agent.name:
            return None
    return next((to for e in reversed(events) if e.author == agent.name and (to := _target(agent, e))), None)


def _target(agent: BaseAgent, event: Event) -> BaseAgent | None:
    actions = event.touched_actions
    if actions is None or not actions.transfer_to_agent or actions.transfer_to_agent == agent.name:
        return None
    return agent.root_agent.find_agent(actions.transfer_to_agent)


def has_finished(agent: BaseAgent, ctx: InvocationContext) -> bool:
    """Whether the agent's last event was its final answer, so that only the note of its end is missing."""
    events: Sequence[Event] = ctx.get_events(current_invocation=True)
    for event in reversed(events):
        if event.author == "user" and event.branch in (None, ctx.branch):
            return False
        if event.author == agent.name and event.branch == ctx.branch and event.content is not None:
            return event.is_final_response() and not event.long_running_tool_ids
    return False
