"""Modes: the tools that an LLM agent gets for its own mode, and for the modes of its sub-agents."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Protocol

from newel.agents.llm.task._coordination import coordinate
from newel.agents.llm.task._delegation_tools import DelegationTool, RequestTaskTool, SingleTurnTool
from newel.agents.llm.task._finish_task_tool import FinishTaskTool, TaskAgent, until_finished
from newel_kernel import BaseAgent, Event, InvocationContext, reason_and_act


class ModalAgent(TaskAgent, Protocol):
    """An agent with a mode, and sub-agents that may have one."""

    @property
    def mode(self) -> str | None:
        """How it converses; None: it chats."""

    @property
    def tools(self) -> Sequence[object]:
        """Its tools, including the tools of modes."""

    @property
    def sub_agents(self) -> Sequence[BaseAgent]:
        """The agents below it."""


def tools_of(agent: ModalAgent) -> list[Any]:
    """The agent's tools: its own, finish_task for a task agent, and one for each sub-agent that works for it."""
    tools = [entry for entry in agent.tools if not isinstance(entry, (FinishTaskTool, DelegationTool))]
    if agent.mode == "task":
        tools.append(FinishTaskTool(agent))
    for child in agent.sub_agents:
        mode = getattr(child, "mode", None)
        if mode == "task":
            tools.append(RequestTaskTool(child))
        elif mode == "single_turn":
            tools.append(SingleTurnTool(child))
    return tools


def delegating(agent: ModalAgent, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """The events of the agent and of the sub-agents that work for it; a task agent's end when it is done."""
    tools = {entry.name: entry for entry in agent.tools if isinstance(entry, DelegationTool)}
    events = coordinate(ctx, tools, reason_and_act) if tools else reason_and_act(ctx)
    if agent.mode != "task":
        return events
    finish = next(entry for entry in agent.tools if isinstance(entry, FinishTaskTool))
    return until_finished(ctx, finish, events)
