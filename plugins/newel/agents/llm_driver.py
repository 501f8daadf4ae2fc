"""The driver of LLM agents: their turns, their models and their tools."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from operator import is_
from typing import TYPE_CHECKING, ClassVar

import newel.tools
from newel import live, models
from newel.agents.base_agent import BaseAgentState
from newel.agents.driver import Driver
from newel.agents.llm import task
from newel.agents.naming import naming
from newel.contexts.invocation_context import InvocationContext
from newel.events.text import text_of
from newel.models.contract import BaseLlm
from newel.models.llm_request import LlmRequest
from newel.tools.structured_output import (
    PLUGIN,
    STATE_ANSWERS,
    VALID_ANSWERS,
    OutputSchemaError,
    Settings,
    full_answer,
    validated,
)
from newel.turns.delegates import is_delegate
from newel.turns.handovers import handed_over, has_finished, transferred_to
from newel.turns.pauses import pauses, waits
from newel.turns.transfers import Handover
from newel_kernel import (
    INVALID_OUTPUT,
    BaseAgent,
    BaseTool,
    BaseToolset,
    Event,
    FeatureUnavailableError,
    ModelDriver,
    Plan,
    PluginError,
    StreamingMode,
    reason_and_act,
)
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_types import deferred

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent
    from newel_kernel import Chains

Events = AsyncGenerator[Event, None]

#: Loads with the first streamed run of an agent with such tools.
_reporting = deferred("newel.agents.reporting", "reporting")


def _reports(tool: object) -> bool:
    """Whether a tool or toolset tells how far its calls are."""
    return getattr(tool, "__newel_reports__", False) is True


class LlmDriver(Driver, ModelDriver):
    """Runs an LLM agent: the loop, or the rest of an interrupted run of it, and what becomes of its answer."""

    __slots__ = ("_adapted", "_plain", "_resolution", "has_tools_of_modes")

    transfers: ClassVar[bool] = True
    #: An empty request, for the request chain to prepare.
    new_request: ClassVar[type[LlmRequest]] = LlmRequest

    def __init__(self, agent: LlmAgent) -> None:
        super().__init__(agent)
        #: Whether the agent's tools include those of its mode, or of its delegates.
        self.has_tools_of_modes = False
        #: The tools made from each entry, by the entry's identity.
        self._adapted: dict[int, tuple[object, list[BaseTool]]] = {}
        #: The tools if all of them only declare themselves, and the entries that they were made from.
        self._plain: tuple[list[BaseTool] | None, list[object]] | None = None
        #: The composition, the agent's choice, and the model that the choice stands for in the composition.
        self._resolution: tuple[Chains, str | BaseLlm, BaseLlm] | None = None

    def settle(self) -> None:
        """Give the agent the tools of its mode, and the tools that reach its delegates."""
        super().settle()
        has_modes = self.has_modes()
        if has_modes or self.has_tools_of_modes:
            agent: LlmAgent = self.agent
            agent.tools[:] = task.tools_of(agent)
        self.has_tools_of_modes = has_modes

    def has_modes(self) -> bool:
        """Whether the agent works on a task for another agent, or has sub-agents that work for it."""
        agent: LlmAgent = self.agent
        return agent.mode == "task" or (bool(agent.sub_agents) and any(map(is_delegate, agent.sub_agents)))

    def run(self, ctx: InvocationContext) -> Events:
        """The agent's events."""
        if ctx.is_resumable:
            return self._resumable(ctx)
        if ctx.resumed and (target := handed_over(self.agent, ctx)) is not None:
            return self._handing_over(target, ctx)
        return self._turns(ctx)

    def run_live(self, ctx: KernelInvocationContext) -> Events:
        """The agent's events in a live run."""
        agent: LlmAgent = self.agent
        if self.has_modes():
            raise FeatureUnavailableError(
                f"the agent {agent.name!r} has sub-agents in mode task or single_turn, or is in one, which has no live "
                f"mode: use run_async, or give them mode='chat'"
            )
        events = live.converse(ctx)
        return events if agent.output_key is None else self._saving_output(ctx, events)

    async def _handing_over(self, target: BaseAgent, ctx: InvocationContext) -> Events:
        yield Handover(target, ctx)

    def _turns(self, ctx: InvocationContext) -> Events:
        agent: LlmAgent = self.agent
        if agent.output_schema is not None:
            return self._steps(ctx) if agent.mode == "task" else self._answering(ctx)  # a task's goes to finish_task
        events = self._steps(ctx)
        return events if agent.output_key is None else self._saving_output(ctx, events)

    def _steps(self, ctx: InvocationContext) -> Events:
        agent: LlmAgent = self.agent
        if agent.mode == "task" or (agent.sub_agents and self.has_modes()):
            Plan.of(ctx)  # an edit may have changed the tools of modes
            return task.delegating(agent, ctx)
        if ctx.run_config.streaming_mode is StreamingMode.SSE and any(map(_reports, agent.tools)):
            events: Events = _reporting()(ctx, reason_and_act)
            return events
        return reason_and_act(ctx)

    async def _answering(self, ctx: InvocationContext) -> Events:
        """The agent's events; its model is asked again while its answer does not fit the output schema."""
        agent: LlmAgent = self.agent
        settings = ctx.composition.settings_of(PLUGIN, Settings)
        asked = 0
        async with aclosing(self._steps(ctx)) as events:
            async for event in events:
                if agent.output_key is not None or settings.check_always:
                    failure = self._check_output(ctx, event)
                    if failure is not None:
                        asked += 1
                        if asked > settings.retries:
                            raise failure.of_agent(agent.name, asked)
                        event.error_code, event.error_message = INVALID_OUTPUT, failure.problems
                yield event

    def _check_output(self, ctx: InvocationContext, event: Event) -> OutputSchemaError | None:
        """Put a final answer that fits into the state; else return what is wrong with it."""
        agent: LlmAgent = self.agent
        text = self._answer_in(event)
        if text is None or not text.strip():
            return None
        given = ctx.stash.get(VALID_ANSWERS, None)
        try:
            known = given.pop(event.id) if given and event.id in given else None
            answer = known or validated(agent.output_schema, text, full_answer)
        except OutputSchemaError as error:
            return error
        if agent.output_key is not None:
            event.actions.state_delta[agent.output_key] = answer.data
            ctx.stash[STATE_ANSWERS][agent.output_key] = answer
        return None

    def _answer_in(self, event: Event) -> str | None:
        """The text of the agent's final event, if `event` is that and has content."""
        if event.author != self.agent.name or not event.is_final_response():
            return None
        return text_of(event.content) if event.content is not None and event.content.parts else None

    async def _resumable(self, ctx: InvocationContext) -> Events:
        """The agent's events from where it stopped, if it had begun, then an event for its end."""
        agent: LlmAgent = self.agent
        resumed = agent._load_agent_state(ctx, BaseAgentState) is not None
        ctx.agent_states.pop(agent.name, None)  # if the agent runs again in this invocation, it starts over
        target = transferred_to(agent, ctx) if resumed else None
        if target is not None:
            if not ctx.end_of_agents.get(target.name):
                yield Handover(target, ctx)
        elif not (resumed and has_finished(agent, ctx) and not waits(ctx)):
            async with aclosing(self._turns(ctx)) as events:
                async for event in events:
                    yield event
        if not pauses(ctx) and not (ctx.end_invocation and self.has_modes()):  # a task that asks ends it too
            ctx.set_agent_state(agent.name, end_of_agent=True)
            yield agent._create_agent_state_event(ctx)

    async def _saving_output(self, ctx: KernelInvocationContext, events: Events) -> Events:
        async with aclosing(events):
            async for event in events:
                self._save_output(ctx, event)
                yield event

    def _save_output(self, ctx: KernelInvocationContext, event: Event) -> None:
        """Put the text of a final answer into the state."""
        agent: LlmAgent = self.agent
        text = self._answer_in(event)
        if text is None or agent.output_key is None:
            return
        if text or ctx.composition.settings_of(PLUGIN, Settings).save_empty:
            event.actions.state_delta[agent.output_key] = text

    def model_for(self, ctx: KernelInvocationContext) -> BaseLlm:
        """The model, resolved by the invocation's distribution and within its policies."""
        chains, choice = ctx.composition, self.agent.model or named_model(self.agent)
        resolution = self._resolution
        if resolution is None or resolution[0] is not chains or resolution[1] is not choice:
            with naming(self.agent):
                model = models.model_of(chains, choice) if isinstance(choice, str) else choice
            resolution = self._resolution = (chains, choice, models.policed(chains, model))
        return resolution[2]

    def as_tools(self, entry: object, ctx: KernelInvocationContext) -> list[BaseTool]:
        """The tools of one entry of `tools`; the entry is adapted (or, if it is a tool, configured) only once."""
        cached = self._adapted.get(id(entry))
        if cached is None or cached[0] is not entry:
            with naming(self.agent):
                tool = newel.tools.adapt_tool(ctx.composition, entry)
            if not isinstance(tool, BaseTool):
                raise PluginError(
                    f"a tool adapter returned {type(tool).__name__} for {entry!r}; a BaseTool is expected"
                )
            cached = self._adapted[id(entry)] = (entry, [tool])
        return cached[1]

    def plain_tools(self, ctx: KernelInvocationContext) -> list[BaseTool] | None:
        """The agent's tools if all of them only declare themselves, else None; found once per list of entries."""
        entries: list[object] = self.agent.tools
        seen = self._plain
        if seen is None or len(entries) != len(seen[1]) or not all(map(is_, entries, seen[1])):
            tools: list[BaseTool] = []
            if not any(isinstance(entry, BaseToolset) for entry in entries):
                tools = [tool for entry in entries for tool in self.as_tools(entry, ctx)]
            plain = tools and all(type(t).process_llm_request is BaseTool.process_llm_request for t in tools)
            seen = self._plain = (tools if plain else None, list(entries))
        return seen[0]


def named_model(agent: BaseAgent) -> str | BaseLlm:
    """The model that the agent or its nearest ancestor with a model names; empty if none does."""
    one: BaseAgent | None = agent
    while one is not None:
        model: str | BaseLlm | None = getattr(one, "model", None)
        if model:
            return model
        one = one.parent_agent
    return ""
