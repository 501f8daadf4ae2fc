"""Resumption: where an invocation that had begun before stands, read from the session's log."""

from __future__ import annotations

from collections.abc import Sequence

from newel_kernel._internal.contracts.agent import BaseAgent
from newel_kernel._internal.errors import ConfigurationError
from newel_kernel._internal.events import Event
from newel_kernel._internal.invocation import InvocationContext
from newel_kernel._internal.routing import choose_agent, conversing_node, find_call_event
from newel_types import FunctionCall


def continued(root: BaseAgent, events: Sequence[Event], ids: set[str | None], resumable: bool) -> str | None:
    """The unfinished invocation that answers to the calls `ids` continue, or None where they begin a new one.

    A graph node or a task waits for its answer in every app, an agent only in one that is resumable. A message that
    answers no call continues the graph one of whose nodes is in conversation with the user.
    """
    asked = find_call_event(events, ids) if ids else conversing_node(events)
    if asked is None or not (resumable or asked.node_info.path or asked.isolation_scope is not None):
        return None
    begun = _entered(root, events, asked.invocation_id)
    own = (e for e in events if e.invocation_id == asked.invocation_id and begun and e.author == begun.name)
    return None if any(event.actions.end_of_agent for event in own) else asked.invocation_id


def take_up(ctx: InvocationContext) -> None:
    """Make the context of a new run that of the invocation whose id it has, and which began before."""
    session = ctx.session
    begun = _entered(ctx.agent, session.events, ctx.invocation_id)
    if begun is None:
        raise ConfigurationError(f"the session {session.id!r} has no invocation {ctx.invocation_id!r} to resume")
    ctx.agent, ctx.resumed = begun, True
    restore(ctx, session.events)


def _entered(root: BaseAgent, events: Sequence[Event], invocation_id: str) -> BaseAgent | None:
    """The agent with which the invocation began, or None where the log does not have it."""
    begin = next((i for i, event in enumerate(events) if event.invocation_id == invocation_id), None)
    return None if begin is None else choose_agent(root, events[: begin + 1])


def restore(ctx: InvocationContext, events: Sequence[Event]) -> None:
    """Bring back the invocation's message and its agents' checkpoints; an agent that only spoke has an empty one."""
    for event in events:
        if event.invocation_id != ctx.invocation_id:
            continue
        if event.author == "user":
            if ctx.user_content is None and event.content is not None and not event.get_function_responses():
                ctx.user_content = event.content
            continue
        state = event.actions.agent_state
        if event.actions.end_of_agent:
            ctx.end_of_agents[event.author] = True
            ctx.agent_states.pop(event.author, None)
        elif state is not None or event.content is not None:
            ctx.agent_states[event.author] = ctx.agent_states.get(event.author, {}) if state is None else state
            ctx.end_of_agents[event.author] = False


def waits(ctx: InvocationContext) -> set[str]:
    """The ids of the long-running calls, of this agent's run and those within it, that the user has yet to answer.

    What the user says instead of an answer ends the waiting; and nothing waits in an app that is not resumable.
    """
    found: set[str] = set()
    below = ctx.branch + "." if ctx.branch else ""
    scopes: set[str | None] = {ctx.isolation_scope}
    for event in ctx.get_events(current_invocation=True) if ctx.is_resumable else ():
        if event.author == "user":
            answered = {response.id for response in event.get_function_responses()}
            found = found - answered if answered else set()
        elif ctx.isolation_scope is not None and event.isolation_scope not in scopes:
            continue
        elif not below or event.branch == ctx.branch or (event.branch or "").startswith(below):
            scopes.update(call.id for call in event.get_function_calls())
            found |= event.long_running_tool_ids or set()
    return found


def open_calls(ctx: InvocationContext) -> tuple[Event, list[FunctionCall]] | None:
    """The agent's latest event of tool calls and those of them that have no result; long-running ones have begun.

    A result that only stands in for one which is to come is marked as ``provisional`` in `custom_metadata`.
    """
    answered: set[str | None] = set()
    for event in reversed(ctx.get_events(current_invocation=True)):
        if not (event.custom_metadata or {}).get("provisional"):
            answered.update(response.id for response in event.get_function_responses())
        if (event.author, event.branch, event.isolation_scope) != (ctx.agent.name, ctx.branch, ctx.isolation_scope):
            continue
        if calls := [call for call in event.get_function_calls() if call.id not in (event.long_running_tool_ids or ())]:
            left = [call for call in calls if call.id not in answered]
            return (event, left) if left else None
    return None
