"""LlmAgent: an agent that a model drives, with tools and sub-agents."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

import newel.tools
import newel_compose
from newel import models
from newel.agents import base_agent
from newel.agents.instruction_provider import instruction_problem
from newel.agents.llm_driver import LlmDriver, named_model
from newel.contexts.invocation_context import InvocationContext
from newel.models.contract import BaseLlm
from newel.tools.annotations import note_locals
from newel.tools.structured_output import schema_problem
from newel.turns.transfers import relay
from newel_kernel import LIFECYCLE, AgentDriver, BaseTool, BaseToolset, Event, ReadonlyContext
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_types import GenerateContentConfig, as_plain

_OWN_FIELDS = {
    "tools": "LlmAgent.tools",
    "system_instruction": "LlmAgent.instruction",
    "response_schema": "LlmAgent.output_schema",
}


def _without_fields_of_requests(value: object) -> GenerateContentConfig | None:
    config = GenerateContentConfig.model_validate(as_plain(value)) if value is not None else None
    for field, instead in _OWN_FIELDS.items():
        if config is not None and getattr(config, field):
            raise ValueError(f"generate_content_config.{field} must not be set: use {instead}")
    return config


def _instruction(value: object) -> object:
    if (problem := instruction_problem(value)) is not None:
        raise ValueError(problem)
    return value


def _no_classes(tools: list[object]) -> list[object]:
    for entry in tools:
        note_locals(entry)
        if isinstance(entry, type) and issubclass(entry, (BaseTool, BaseToolset)):
            raise ValueError(f"{entry.__name__} is a class of tools: give an instance, {entry.__name__}(...)")
    return tools


def _schema(value: object) -> object:
    if (problem := schema_problem(value)) is not None:
        raise ValueError(problem)
    return value


class LlmAgent(base_agent.BaseAgent):
    """An agent that asks a model what to do, runs the tools it calls, and may transfer to other agents.

    `model` is an address (``gemini-2.5-flash``, ``demo:``, ``script:steps.yaml``) or a BaseLlm; if it is
    empty, the nearest ancestor's is used, else the distribution's default. `tools` holds functions, tools
    and toolsets.
    """

    __newel_driver__: ClassVar[type[AgentDriver]] = LlmDriver
    if TYPE_CHECKING:
        __newel__: LlmDriver

    model: str | BaseLlm = ""
    #: Text with ``{state_key}`` placeholders, or a function of a ReadonlyContext that returns the text to send.
    instruction: Annotated[object, AfterValidator(_instruction)] = ""
    #: The same, for the whole tree; only the root's is used.
    global_instruction: Annotated[object, AfterValidator(_instruction)] = ""
    #: Sent unchanged, before everything else, so that a provider can cache it (text, a Content or parts).
    static_instruction: object = None
    tools: Annotated[list[object], AfterValidator(_no_classes)] = Field(default_factory=list)
    generate_content_config: Annotated[GenerateContentConfig | None, BeforeValidator(_without_fields_of_requests)] = (
        None
    )
    mode: Literal["chat", "task", "single_turn"] | None = None
    disallow_transfer_to_parent: bool = False
    disallow_transfer_to_peers: bool = False
    #: 'none': the model sees only the current turn.
    include_contents: Literal["default", "none"] = "default"
    input_schema: Annotated[object, AfterValidator(_schema)] = None
    output_schema: Annotated[object, AfterValidator(_schema)] = None
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

    def model_post_init(self, context: object, /) -> None:
        """Give the agent the tools of its mode, and the tools that reach its delegates.

        The signatures of callbacks are checked here, so that a wrong one fails before its first call.
        """
        super().model_post_init(context)
        # A copy has the tools of the original's modes.
        self.__newel__.has_tools_of_modes = any(getattr(entry, "__newel_of_mode__", False) for entry in self.tools)
        self.__newel__.settle()
        for hook in LIFECYCLE:
            if hook in type(self).model_fields:
                self.__newel__.callbacks(hook)

    def run_async(self, parent_context: KernelInvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent and the agents that it hands over to; yield their events in order."""
        if not self.sub_agents and self.parent_agent is None:  # nothing will be handed over
            return self.__newel__.enter(parent_context)
        return relay(self, parent_context)

    def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:  # type: ignore[override]
        return self.__newel__.run(ctx)

    def _run_live_impl(self, ctx: KernelInvocationContext) -> AsyncGenerator[Event, None]:
        return self.__newel__.run_live(ctx)

    @property
    def canonical_model(self) -> BaseLlm:
        """The model itself, resolved by the process's distribution if `model` is an address."""
        choice = named_model(self)
        return models.model_of(newel_compose.compose_once(), choice) if isinstance(choice, str) else choice

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
