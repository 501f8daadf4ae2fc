"""Delegates: agents that are run by a tool of their parent, and whose turns are the parent's."""

from __future__ import annotations

from newel_kernel import BaseAgent

#: The modes of an agent that works for another one.
DELEGATE_MODES = ("task", "single_turn")


def is_delegate(agent: BaseAgent) -> bool:
    """Whether an agent is run by a tool of its parent, and cannot be transferred to."""
    return agent.__newel__.transfers and getattr(agent, "mode", None) in DELEGATE_MODES


def employer_of(agent: BaseAgent) -> BaseAgent:
    """The agent that `agent`, or the highest delegate above it, works for; `agent` itself if neither is one."""
    employer = current = agent
    while (parent := current.parent_agent) is not None:
        if is_delegate(current):
            employer = parent
        current = parent
    return employer
