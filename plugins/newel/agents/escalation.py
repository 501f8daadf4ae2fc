"""Escalation: whom an agent's escalation ends.

It ends the innermost loop around the agent; with ``actions.route`` the loop of that name, and everything within it.
"""

from __future__ import annotations

from collections.abc import Iterator

from newel.contexts.invocation_context import InvocationContext
from newel_kernel import BaseAgent, Event


def is_loop(agent: BaseAgent) -> bool:
    """Whether the agent answers an escalation."""
    return getattr(type(agent), "__newel_is_loop__", False)


def escalates(event: Event) -> bool:
    """Whether the event escalates."""
    actions = event.touched_actions
    return actions is not None and bool(actions.escalate) and not event.partial


def leads_out_of(agent: BaseAgent, event: Event) -> bool:
    """Whether an event from within `agent` escalates to a loop around it, by that loop's name."""
    if not escalates(event):
        return False
    route, around = event.actions.route, agent.parent_agent
    while around is not None:
        if is_loop(around) and around.name == route:
            return True
        around = around.parent_agent
    return False


def since_checkpoint(agent: BaseAgent, ctx: InvocationContext) -> Iterator[Event]:
    """The events of this invocation since the agent's latest checkpoint, the latest first."""
    for event in reversed(ctx.get_events(current_invocation=True)):
        actions = event.touched_actions
        if event.author == agent.name and actions is not None and actions.agent_state is not None:
            return
        yield event
