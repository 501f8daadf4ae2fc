"""Routing: which agent answers, and which call a user's tool result belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from newel_kernel._internal.contracts.agent import BaseAgent
from newel_kernel._internal.events import Event


def find_call_event(events: Sequence[Event], response_ids: set[str | None]) -> Event | None:
    """The latest event that holds a call which one of the responses answers; none that a rewind took back."""
    for _, event in backwards(events):
        if any(call.id in response_ids for call in event.get_function_calls()):
            return event
    return None


def backwards(events: Sequence[Event]) -> Iterator[tuple[int, Event]]:
    """The events from the last one back, each with its index, without those that a rewind took back."""
    index = len(events) - 1
    while index >= 0:
        actions = events[index].touched_actions
        target = actions.rewind_before_invocation_id if actions is not None else None
        if target:
            index = next((i for i in range(index) if events[i].invocation_id == target), index)
        else:
            yield index, events[index]
        index -= 1


def open_scope(events: Sequence[Event]) -> str | None:
    """The isolation scope that the conversation is in: the next message of the user belongs to it.

    It was left open by the last invocation in which an agent spoke. A scope is closed by the result of the call
    that it is named after, by an event in it that has an output, or by the note that the graph node after whose path
    it is named, or one around that, is done.
    """
    last: str | None = None
    for event in reversed(events):  # most conversations know no scopes: one look at each event of the last invocation
        if event.isolation_scope is not None:
            return _latest_open(events)
        if last is not None and event.invocation_id != last:
            return None
        if event.author != "user":
            last = event.invocation_id
    return None


def _latest_open(events: Sequence[Event]) -> str | None:
    closed: set[str | None] = set()
    last: str | None = None
    for _, event in backwards(events):
        if last is not None and event.invocation_id != last:
            return None
        closed.update(response.id for response in event.get_function_responses())
        closed.update(event.node_info.nodes or ())
        scope = event.isolation_scope
        if scope is not None:
            if event.output is not None:
                closed.add(scope)
            if not any(f"{scope}/".startswith(f"{one}/") for one in closed) and _converses(event):
                return scope
        elif event.author != "user" and event.content is not None:
            last = event.invocation_id
    return None


def conversing_node(events: Sequence[Event]) -> Event | None:
    """The latest event of the graph node that has the user's next message, itself or in a task that it has given."""
    scope = open_scope(events)
    while scope is not None and (call := find_call_event(events, {scope})) is not None:
        scope = call.isolation_scope
    talk = (event for event in reversed(events) if scope is not None and event.isolation_scope == scope)
    return next((event for event in talk if event.node_info.path), None)


def _converses(event: Event) -> bool:
    """Whether an agent is at work there that takes messages.

    One does not that only notes its end, or puts before the user what the agent in one of its tools asks.
    """
    passes_on = event.long_running_tool_ids and event.content is not None and event.content.role == "user"
    return event.author != "user" and not event.actions.end_of_agent and not passes_on


def choose_agent(root: BaseAgent, events: Sequence[Event]) -> BaseAgent:
    """Who answers the next turn (S0 §1.4).

    The agent that asked, where the last event answers a call or is said in an isolation scope; else the latest
    author who may keep the conversation; else the root. A delegate's turns go to the agent that it works for.
    """
    asked: Event | None = None
    if events and (responses := events[-1].get_function_responses()):
        asked = find_call_event(events, {response.id for response in responses})
    elif events and (scope := events[-1].isolation_scope) is not None:
        asked = next((e for _, e in backwards(events) if e.isolation_scope == scope and e.author != "user"), None)
    if asked is not None and (agent := root.find_agent(asked.author)) is not None:
        return _employer(agent)
    for event in reversed(events):
        actions = event.touched_actions
        if event.author == "user" or (
            actions is not None and (actions.agent_state is not None or actions.end_of_agent)
        ):
            continue
        if event.author == root.name:
            return root
        agent = root.find_sub_agent(event.author)
        if agent is not None and keeps_conversation(agent := _employer(agent)):
            return agent
    return root


def _employer(agent: BaseAgent) -> BaseAgent:
    """The agent for which `agent`, or the highest one above it that its parent runs as a tool, works; else itself."""
    employer = current = agent
    while (parent := current.parent_agent) is not None:
        if is_delegate(current):
            employer = parent
        current = parent
    return employer


def is_delegate(agent: BaseAgent) -> bool:
    """Whether an agent is run by a tool of its parent, and cannot be transferred to."""
    return agent.transfers and getattr(agent, "mode", None) in ("task", "single_turn")


def keeps_conversation(agent: BaseAgent) -> bool:
    """Whether every agent up to the root can transfer upwards, so that the user is not stuck with this one."""
    current: BaseAgent | None = agent
    while current is not None:
        if not current.transfers or getattr(current, "disallow_transfer_to_parent", False):
            return False
        current = current.parent_agent
    return True
