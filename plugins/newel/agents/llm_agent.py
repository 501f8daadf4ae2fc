"""LlmAgent: an agent that a model drives, with tools and sub-agents."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator

import newel.tools
import newel_compose
from newel import models
from newel.agents import base_agent
from newel.agents.fields import (
    AfterModel,
    AfterTool,
    BeforeModel,
    BeforeTool,
    CodeExecutor,
    DepsType,
    GenerateConfig,
    InputSchema,
    Instruction,
    OnModelError,
    OnToolError,
    OutputSchema,
    Planner,
    StaticInstruction,
    ToolLike,
    no_classes,
)
from newel.agents.llm_driver import LlmDriver, named_model
from newel.contexts.generics import DepsIn, Out
from newel.contexts.invocation_context import InvocationContext
from newel.models.contract import BaseLlm
from newel.turns.transfers import relay
from newel_kernel import LIFECYCLE, AgentDriver, BaseTool, BaseToolset, Event, ReadonlyContext
from newel_kernel import InvocationContext as KernelInvocationContext

if TYPE_CHECKING:
    from newel.agents.fields import AgentCallback
    from newel_kernel import BaseAgent
    from newel_types import GenerateContentConfig


class LlmAgent(base_agent.BaseAgent[DepsIn, Out]):
    """An agent that asks a model what to do, runs the tools it calls, and may transfer to other agents.

    `model` is an address (``gemini-3.5-flash-lite``, ``demo:``, ``script:steps.yaml``) or a BaseLlm; if it is
    empty, the nearest ancestor's is used, else the distribution's default. `tools` holds functions, tools
    and toolsets.

    ``LlmAgent[Deps, Out]`` runs with `deps` of the first type, and its run returns the second; type checkers find
    both from `deps_type` and `output_schema`.
    """

    __newel_driver__: ClassVar[type[AgentDriver]] = LlmDriver

    #: The model: an address or a BaseLlm. Empty: that of the nearest ancestor, else the distribution's default.
    model: str | BaseLlm = ""
    #: Text with ``{state_key}`` placeholders, or a function of a ReadonlyContext that returns the text to send.
    instruction: Instruction[DepsIn] = ""
    #: The same, for the whole tree; only the root's is used.
    global_instruction: Instruction[DepsIn] = ""
    #: Sent unchanged, before everything else, so that a provider can cache it (text, a Content or parts).
    static_instruction: StaticInstruction | None = None
    #: Functions, tools and toolsets that the model may call.
    tools: list[ToolLike] = Field(default_factory=list)
    #: How the model writes: temperature, limits, safety, thinking. Tools and schemas have fields of their own.
    generate_content_config: GenerateConfig | None = None
    #: How the agent works below another: 'chat' takes over, 'task' talks until it is done, 'single_turn' answers once.
    mode: Literal["chat", "task", "single_turn"] | None = None
    #: Whether the model may not hand over to the agent above.
    disallow_transfer_to_parent: bool = False
    #: Whether the model may not hand over to the other agents below its parent.
    disallow_transfer_to_peers: bool = False
    #: What the model sees of the session. 'none': only the current turn.
    include_contents: Literal["default", "none"] = "default"
    #: The type or JSON schema that another agent's input for this one must fit.
    input_schema: InputSchema | None = None
    #: The type that the final answer must fit, which a run then returns; or a JSON schema: a run returns the text.
    output_schema: OutputSchema[Out] | None = None
    #: The type of the `deps` that a run must be given; tools, callbacks and instructions read them as `ctx.deps`.
    deps_type: DepsType[DepsIn] | None = None
    #: The state key that gets the final answer.
    output_key: str | None = None
    #: Has the model plan before it acts.
    planner: Planner | None = None
    #: Runs the code that the model writes.
    code_executor: CodeExecutor | None = None
    #: Called before each model call with (callback_context, llm_request); an LlmResponse is used instead of the call.
    before_model_callback: BeforeModel[DepsIn] | None = None
    #: Called after each response with (callback_context, llm_response); an LlmResponse replaces it.
    after_model_callback: AfterModel[DepsIn] | None = None
    #: Called when a model call failed with (callback_context, llm_request, error); an LlmResponse replaces the error.
    on_model_error_callback: OnModelError[DepsIn] | None = None
    #: Called before each tool call with (tool, args, tool_context); a dict is used as the result of the call.
    before_tool_callback: BeforeTool[DepsIn] | None = None
    #: Called after each tool call with (tool, args, tool_context, tool_response); a dict replaces the result.
    after_tool_callback: AfterTool[DepsIn] | None = None
    #: Called when a tool failed with (tool, args, tool_context, error); a dict replaces the error.
    on_tool_error_callback: OnToolError[DepsIn] | None = None

    if TYPE_CHECKING:  # pydantic's plugin for mypy would make the parameters Any

        def __init__(
            self,
            *,
            name: str,
            description: str = "",
            sub_agents: Sequence[BaseAgent] = (),
            before_agent_callback: AgentCallback[DepsIn] | None = None,
            after_agent_callback: AgentCallback[DepsIn] | None = None,
            model: str | BaseLlm = "",
            instruction: Instruction[DepsIn] = "",
            global_instruction: Instruction[DepsIn] = "",
            static_instruction: StaticInstruction | None = None,
            tools: Sequence[ToolLike] = (),
            generate_content_config: GenerateContentConfig | Mapping[str, Any] | None = None,
            mode: Literal["chat", "task", "single_turn"] | None = None,
            disallow_transfer_to_parent: bool = False,
            disallow_transfer_to_peers: bool = False,
            include_contents: Literal["default", "none"] = "default",
            input_schema: InputSchema | None = None,
            output_schema: OutputSchema[Out] | None = None,
            deps_type: DepsType[DepsIn] | None = None,
            output_key: str | None = None,
            planner: Planner | None = None,
            code_executor: CodeExecutor | None = None,
            before_model_callback: BeforeModel[DepsIn] | None = None,
            after_model_callback: AfterModel[DepsIn] | None = None,
            on_model_error_callback: OnModelError[DepsIn] | None = None,
            before_tool_callback: BeforeTool[DepsIn] | None = None,
            after_tool_callback: AfterTool[DepsIn] | None = None,
            on_tool_error_callback: OnToolError[DepsIn] | None = None,
        ) -> None:
            """An agent that asks `model` what to do, runs the `tools` that it calls, and may transfer to `sub_agents`.

            `model` is an address (``gemini-3.5-flash-lite``, ``demo:``) or a BaseLlm; if it is empty, the nearest
            ancestor's is used. A run returns the final answer: a value of `output_schema`, or its text.
            """

        @property
        def __newel__(self) -> LlmDriver: ...

    @field_validator("tools")
    @classmethod
    def __newel_no_classes__(cls, tools: list[ToolLike]) -> list[ToolLike]:
        return no_classes(tools)

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
        composition = newel_compose.compose_once()
        for entry in self.tools:
            if isinstance(entry, BaseToolset):
                tools.extend(await entry.get_tools_with_prefix(ctx))
            else:
                tools.append(newel.tools.adapt_tool(composition, entry))
        return tools


Agent = LlmAgent
