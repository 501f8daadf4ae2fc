"""Where a resumed LLM agent goes on: with an agent that it transferred to, with itself, or nowhere (S0 §10.2)."""

from __future__ import annotations

from collections.abc import Sequence

from mortise_kernel.contracts.agent import BaseAgent
from mortise_kernel.events import Event
from mortise_kernel.invocation import InvocationContext
from mortise_kernel.routing import find_call_event


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
