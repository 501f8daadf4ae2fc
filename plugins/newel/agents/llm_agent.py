"""LlmAgent: an agent that a model drives, with tools and sub-agents."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator

import newel.tools
import newel_compose
from newel import live, models
from newel.agents import base_agent
from newel.agents.instruction_provider import instruction_problem
from newel.agents.llm import task
from newel.agents.structured_output import schema_problem
from newel.agents.structured_output import validated as validated
from newel.contexts.invocation_context import InvocationContext
from newel.events.text import text_of
from newel.models.llm_request import LlmRequest
from newel.turns.delegates import is_delegate
from newel.turns.handovers import handed_over, has_finished, transferred_to
from newel.turns.pauses import pauses, waits
from newel.turns.transfers import Handover, relay
from newel_kernel import (
    LIFECYCLE,
    BaseAgent,
    BaseLlm,
    BaseTool,
    BaseToolset,
    Event,
    FeatureUnavailableError,
    PluginError,
    ReadonlyContext,
    reason_and_act,
)
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_types import GenerateContentConfig, as_plain

if TYPE_CHECKING:
    from newel_kernel import Chains

_OWN_FIELDS = {
    "tools": "LlmAgent.tools",
    "system_instruction": "LlmAgent.instruction",
    "response_schema": "LlmAgent.output_schema",
}


class _Resolution:
    """The model that an agent's `choice`, an address or a model, stands for in a composition."""

    __slots__ = ("chains", "choice", "model")

    def __init__(self, chains: Chains, choice: str | BaseLlm, model: BaseLlm) -> None:
        self.chains = chains
        self.choice = choice
        self.model = model

    def __deepcopy__(self, memo: object) -> None:
        """Copies as None: a copied agent resolves its model itself."""


class LlmAgent(base_agent.BaseAgent):
    """An agent that asks a model what to do, runs the tools it calls, and may transfer to other agents.

    `model` is an address (``gemini-2.5-flash``, ``demo:``, ``script:steps.yaml``) or a BaseLlm; where it is
    empty, the nearest ancestor's is used, else the distribution's default. `tools` holds functions, tools
    and toolsets.
    """

    transfers: ClassVar[bool] = True

    model: str | BaseLlm = ""
    #: Text with ``{state_key}`` placeholders, or a function of a ReadonlyContext that returns the text to send.
    instruction: object = ""
    #: The same, for the whole tree; only the root's is used.
    global_instruction: object = ""
    #: Sent as it is, before everything else, so that a provider can cache it (text, a Content or parts).
    static_instruction: object = None
    tools: list[object] = Field(default_factory=list)
    generate_content_config: GenerateContentConfig | None = None
    mode: Literal["chat", "task", "single_turn"] | None = None
    disallow_transfer_to_parent: bool = False
    disallow_transfer_to_peers: bool = False
    #: 'none': the model sees only the current turn.
    include_contents: Literal["default", "none"] = "default"
    input_schema: object = None
    output_schema: object = None
    #: The state key that gets the final answer.
    output_key: str | None = None
    planner: object = None
    code_executor: object = None
    before_model_callback: object = None
    after_model_callback: object = None
    on_model_error_callback: object = None
    before_tool_callback: object = None
    after_tool_callback: object = None
    on_tool_error_callback: object = None

    @field_validator("generate_content_config", mode="before")
    @classmethod
    def _only_its_own(cls, value: object) -> GenerateContentConfig | None:
        config = GenerateContentConfig.model_validate(as_plain(value)) if value is not None else None
        for field, instead in _OWN_FIELDS.items():
            if config is not None and getattr(config, field):
                raise ValueError(f"generate_content_config.{field} must not be set: use {instead}")
        return config

    @field_validator("instruction", "global_instruction")
    @classmethod
    def _is_instruction(cls, value: object) -> object:
        if (problem := instruction_problem(value)) is not None:
            raise ValueError(problem)
        return value

    @field_validator("tools")
    @classmethod
    def _no_classes(cls, tools: list[object]) -> list[object]:
        for entry in tools:
            if isinstance(entry, type) and issubclass(entry, (BaseTool, BaseToolset)):
                raise ValueError(f"{entry.__name__} is a class of tools: give an instance, {entry.__name__}(...)")
        return tools

    @field_validator("input_schema", "output_schema")
    @classmethod
    def _is_schema(cls, value: object) -> object:
        if (problem := schema_problem(value)) is not None:
            raise ValueError(problem)
        return value

    def model_post_init(self, context: object, /) -> None:
        """Give the agent the tools of its mode, and the tools that reach its delegates.

        The signatures of callbacks are checked here, so that a wrong one fails before its first call.
        """
        super().model_post_init(context)
        if self._has_modes() or any(getattr(entry, "of_mode", False) for entry in self.tools):
            self.tools = task.tools_of(self)
        own = self.__dict__  # `getattr` for a hook that is no field of an agent raises an error, which is slow
        for hook in LIFECYCLE:
            if own.get(hook) is not None:
                self.callbacks(hook)

    @cached_property
    def _adapted(self) -> dict[int, tuple[object, list[BaseTool]]]:
        """The tools made from each entry, by the entry's identity."""
        return {}

    def _has_modes(self) -> bool:
        """Whether the agent works on a task for another agent, or has sub-agents that work for it."""
        own = self.__dict__
        return own["mode"] == "task" or (bool(own["sub_agents"]) and any(map(is_delegate, own["sub_agents"])))

    def run_async(self, parent_context: KernelInvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent and the agents that it hands over to; yield their events in order."""
        own = self.__dict__
        if not own["sub_agents"] and own["parent_agent"] is None:  # nothing will be handed over
            return self.enter(parent_context)
        return relay(self, parent_context)

    #: An empty request, for the request chain to prepare.
    new_request: ClassVar[type[LlmRequest]] = LlmRequest

    def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:  # type: ignore[override]
        if ctx.resumability_config is not None and ctx.is_resumable:  # most apps have no config: saves the call
            return self._resumable(ctx)
        if ctx.resumed and (target := handed_over(self, ctx)) is not None:
            return self._handing_over(target, ctx)
        return self._turns(ctx)

    def _run_live_impl(self, ctx: KernelInvocationContext) -> AsyncGenerator[Event, None]:
        if self._has_modes():
            raise FeatureUnavailableError(
                f"the agent {self.name!r} has sub-agents in mode task or single_turn, or is in one, which has no live "
                f"mode: use run_async, or give them mode='chat'"
            )
        events = live.converse(ctx)
        return events if self.output_key is None else self._saving_output(events)

    async def _handing_over(self, target: BaseAgent, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield Handover(target, ctx)

    def _turns(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        events = task.delegating(self, ctx) if self._has_modes() else reason_and_act(ctx)
        return events if self.output_key is None else self._saving_output(events)

    async def _resumable(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """The agent's events from where it stopped, if it had begun, then an event for its end.

        Specified in docs/reference/behaviour.md#an-agent.
        """
        resumed = self._load_agent_state(ctx, base_agent.BaseAgentState) is not None
        ctx.agent_states.pop(self.name, None)  # if the agent runs again in this invocation, it starts over
        target = transferred_to(self, ctx) if resumed else None
        if target is not None:
            if not ctx.end_of_agents.get(target.name):
                yield Handover(target, ctx)
        elif not (resumed and has_finished(self, ctx) and not waits(ctx)):
            async with aclosing(self._turns(ctx)) as events:
                async for event in events:
                    yield event
        if not pauses(ctx) and not (ctx.end_invocation and self._has_modes()):  # a task that asks ends it too
            ctx.set_agent_state(self.name, end_of_agent=True)
            yield self._state_event(ctx)

    async def _saving_output(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        async with aclosing(events):
            async for event in events:
                self._save_output(event)
                yield event

    def _save_output(self, event: Event) -> None:
        """Put the text of a final answer (validated, where there is an output schema) into the state."""
        if event.author != self.name or not event.is_final_response():
            return
        parts = event.content.parts if event.content is not None else None
        if not parts or self.output_key is None:
            return
        text = text_of(event.content)
        value: object = text
        if self.output_schema is not None:
            if not text.strip() or self.mode == "task":  # a task's result goes to finish_task, and this is a question
                return
            value = validated(self.output_schema, text)
        event.actions.state_delta[self.output_key] = value

    @property
    def canonical_model(self) -> BaseLlm:
        """The model itself, resolved by the process's distribution where `model` is an address."""
        choice = self._named_model()
        return models.model_of(newel_compose.compose_once(), choice) if isinstance(choice, str) else choice

    def model_for(self, ctx: InvocationContext) -> BaseLlm:
        """The model, resolved by the invocation's distribution and within its policies."""
        own, chains = self.__dict__, ctx.composition  # called twice per step; a field costs ten times a dict key
        choice: str | BaseLlm = own["model"] or self._named_model()
        resolution: _Resolution | None = own.get("_resolution")
        if resolution is None or resolution.chains is not chains or resolution.choice is not choice:
            model = models.model_of(chains, choice) if isinstance(choice, str) else choice
            resolution = own["_resolution"] = _Resolution(chains, choice, models.policed(chains, model))
        return resolution.model

    def _named_model(self) -> str | BaseLlm:
        agent: BaseAgent | None = self
        while agent is not None:
            model: str | BaseLlm | None = getattr(agent, "model", None)
            if model:
                return model
            agent = agent.parent_agent
        return ""

    def as_tools(self, entry: object, ctx: InvocationContext) -> list[BaseTool]:
        """The tools of one entry of `tools`; the entry is adapted (or, if it is a tool, configured) only once."""
        cached = self._adapted.get(id(entry))
        if cached is None or cached[0] is not entry:
            tool = newel.tools.adapt_tool(ctx.composition, entry)
            if not isinstance(tool, BaseTool):
                raise PluginError(
                    f"a tool adapter returned {type(tool).__name__} for {entry!r}; a BaseTool is expected"
                )
            cached = self._adapted[id(entry)] = (entry, [tool])
        return cached[1]

    def plain_tools(self, ctx: InvocationContext) -> list[BaseTool] | None:
        """The agent's tools if all of them only declare themselves, else None; found once per list of entries."""
        own = self.__dict__
        seen: tuple[list[object], list[BaseTool] | None] | None = own.get("_plain")
        if seen is None or seen[0] != own["tools"]:
            tools: list[BaseTool] = []
            if not any(isinstance(entry, BaseToolset) for entry in self.tools):
                tools = [tool for entry in self.tools for tool in self.as_tools(entry, ctx)]
            plain = tools and all(type(t).process_llm_request is BaseTool.process_llm_request for t in tools)
            seen = own["_plain"] = (list(self.tools), tools if plain else None)
        return seen[1]

    async def canonical_tools(self, ctx: ReadonlyContext | None = None) -> list[BaseTool]:
        """Every tool of the agent; functions are adapted, and toolsets list their tools."""
        tools: list[BaseTool] = []
        for entry in self.tools:
            if isinstance(entry, BaseToolset):
                tools.extend(await entry.get_tools_with_prefix(ctx))
            else:
                tools.append(newel.tools.adapt_tool(newel_compose.compose_once(), entry))
        return tools


Agent = LlmAgent
