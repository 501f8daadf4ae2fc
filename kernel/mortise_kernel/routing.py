"""Routing: which agent answers, and which call a user's tool result belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from mortise_kernel.contracts.agent import BaseAgent
from mortise_kernel.events import Event


def find_call_event(events: Sequence[Event], response_ids: set[str | None]) -> Event | None:
    """The latest event that holds a call which one of the responses answers."""
    for event in reversed(events):
        if any(call.id in response_ids for call in event.get_function_calls()):
            return event
    return None


def choose_agent(root: BaseAgent, events: Sequence[Event]) -> BaseAgent:
    """Who answers the next turn (S0 §1.4).

    The agent that asked, where the last event answers a call; else the latest author who may keep the
    conversation; else the root.
    """
    if events and (responses := events[-1].get_function_responses()):
        asked = find_call_event(events, {response.id for response in responses})
        if asked is not None and (agent := root.find_agent(asked.author)) is not None:
            return agent
    for event in reversed(events):
        actions = event.touched_actions
        if event.author == "user" or (
            actions is not None and (actions.agent_state is not None or actions.end_of_agent)
        ):
            continue
        if event.author == root.name:
            return root
        agent = root.find_sub_agent(event.author)
        if agent is not None and keeps_conversation(agent):
            return agent
    return root


def keeps_conversation(agent: BaseAgent) -> bool:
    """Whether every agent up to the root can transfer upwards, so that the user is not stuck with this one."""
    current: BaseAgent | None = agent
    while current is not None:
        if not current.transfers or getattr(current, "disallow_transfer_to_parent", False):
            return False
        current = current.parent_agent
    return True
