"""Preparation of a model request: the request chain, then the agent's tools declare themselves.

Specified in docs/reference/behaviour.md#declaring-tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import is_, length_hint
from typing import TYPE_CHECKING, Any

from newel_kernel._internal.contracts.agent import AgentDriver, BaseAgent
from newel_kernel._internal.contracts.request import LlmRequest
from newel_kernel._internal.contracts.tool import BaseTool, BaseToolset
from newel_kernel._internal.errors import DuplicateToolError
from newel_kernel._internal.events import Event
from newel_kernel._internal.invocation import InvocationContext

if TYPE_CHECKING:
    from newel_kernel._internal.chains import Chains
    from newel_kernel._internal.contracts.model_agent import ModelAgent

#: A toolset and the tools that it gave.
Provided = tuple[BaseToolset, Sequence[BaseTool]]
DONE = -1
flatten = chain.from_iterable
#: Tells the end of one list from the beginning of the next.
_END = (object(),)
_MODEL_HOOKS = ("before_model_callback", "on_model_error_callback", "after_model_callback")


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a composition's request and response chains that apply to one agent."""

    #: The plan is valid while the root of the agent's tree has this number of edits,
    root: AgentDriver
    edits: int
    #: for these chains,
    chains: object
    #: and while these lists, which may be edited in place, hold the same items.
    lists: Sequence[Sequence[object]]
    items: Sequence[object]
    request: Sequence[Any]
    #: The request steps of a run that continues nothing.
    fresh: Sequence[Any]
    response: Sequence[Any]
    #: Whether hooks may surround the agent's model calls.
    hooked: bool

    @classmethod
    def of(cls, ctx: InvocationContext) -> Plan:
        """The plan of the agent that runs, made again after an edit of an agent in its tree."""
        chains, driver = ctx.composition, ctx.agent.__newel__
        plan: Plan | None = driver.plan
        # If the agent moved to another root, the old root counted the move as an edit.
        if (
            plan is None
            or plan.edits != plan.root.edits
            or plan.chains is not chains
            or not all(map(is_, flatten(plan.lists), plan.items))
        ):
            plan = driver.plan = cls._made(ctx.agent, chains)
        return plan

    @classmethod
    def _made(cls, agent: BaseAgent, chains: Chains) -> Plan:
        agent.__newel__.settle()
        lists: list[Sequence[object]] = [getattr(agent, "tools", ()), _END]
        one: BaseAgent | None = agent
        while one is not None:
            lists += one.__newel__.children(), _END
            one = one.parent_agent
        root = agent.root_agent.__newel__
        steps = [
            (p, p.run if p.for_agent is None else p.for_agent(agent))
            for p in chains.request_steps
            if p.applies_to is None or p.applies_to(agent)
        ]
        return cls(
            root=root,
            edits=root.edits,
            chains=chains,
            lists=lists,
            items=[*flatten(lists)],
            request=tuple([run for _, run in steps]),
            fresh=tuple([run for processor, run in steps if not processor.on_continuation]),
            response=[p.run for p in chains.response_chain if p.applies_to is None or p.applies_to(agent)],
            hooked=chains.models_hooked or any(getattr(agent, hook, None) is not None for hook in _MODEL_HOOKS),
        )


async def prepare(
    ctx: InvocationContext, plan: Plan, request: LlmRequest, position: int = 0
) -> tuple[int, Sequence[Event]]:
    """Run the request chain from `position` on, up to a processor that reports events.

    Commit these events before the rest of the chain runs, because it reads the session; then call again with the
    returned position. DONE says that the request is prepared, or that the invocation is over.
    """
    request_chain = plan.request if ctx.continues else plan.fresh
    for run in (steps := iter(request_chain[position:])):
        reported = run(ctx, request)
        if reported is not None and (events := await reported):  # else a plain function has run
            return DONE if ctx.end_invocation else len(request_chain) - length_hint(steps), events
        if ctx.end_invocation:
            return DONE, ()
    if ctx.agent.tools:  # type: ignore[attr-defined]  # a model agent's
        await declare_tools(ctx, request)
    return DONE, ()


async def declare_tools(ctx: InvocationContext, request: LlmRequest) -> None:
    """Let each toolset and tool of the agent prepare the request, in order."""
    owner: ModelAgent = ctx.agent  # type: ignore[assignment]
    provided: list[Provided] = []
    try:
        if (only := owner.__newel__.plain_tools(ctx)) is not None:
            request.append_tools(only)
        else:
            await _declare(ctx, owner, request, provided)
    except DuplicateToolError as error:
        owners = [_owner(tool, provided) for tool in error.tools]
        raise DuplicateToolError(
            f"agent {owner.name!r} has two tools named {error.tools[0].name!r}, one is {owners[0]}, the other one "
            f"{owners[1]}; rename one of them, or set the tool_name_prefix of a toolset",
            error.tools,
        ) from None


def _owner(tool: BaseTool, provided: Sequence[Provided]) -> str:
    toolset = next((toolset for toolset, tools in provided if any(tool is one for one in tools)), None)
    return (
        tool.__newel_origin__
        if toolset is None
        else f"{tool.__newel_origin__} of the toolset {toolset.__newel_origin__}"
    )


async def _declare(ctx: InvocationContext, owner: ModelAgent, request: LlmRequest, provided: list[Provided]) -> None:
    """Declare the tools of `owner`; tools that come from toolsets are noted in `provided`."""
    plain: list[BaseTool] = []
    for entry in owner.tools:
        if isinstance(entry, BaseToolset):
            context = ctx.context_type(ctx)
            await entry.process_llm_request(tool_context=context, llm_request=request)
            tools: Sequence[BaseTool] = await entry.get_tools_with_prefix(context)
            provided.append((entry, tools))
        else:
            tools = owner.__newel__.as_tools(entry, ctx)
        for tool in tools:
            if type(tool).process_llm_request is BaseTool.process_llm_request:
                plain.append(tool)  # only declares itself: no context, no coroutine
                continue
            if plain:
                request.append_tools(plain)
                plain = []
            await tool.process_llm_request(tool_context=ctx.context_type(ctx), llm_request=request)
    if plain:
        request.append_tools(plain)
