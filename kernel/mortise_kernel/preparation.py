"""Preparation of a model request: the request chain, then the agent's tools declare themselves (S0 §2.5, §3.9)."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from mortise_kernel.context import Context
from mortise_kernel.contracts.request import LlmRequest
from mortise_kernel.contracts.tool import BaseTool, BaseToolset
from mortise_kernel.events import Event
from mortise_kernel.invocation import InvocationContext

DONE = -1


async def prepare(ctx: InvocationContext, request: LlmRequest, position: int = 0) -> tuple[int, Sequence[Event]]:
    """Run the request chain from `position` on, up to a processor that reports events.

    Those are to be committed before the rest of the chain runs, for it reads the session: call again with the
    position that is returned. DONE says that the request is prepared, or the invocation over.
    """
    agent = ctx.agent
    steps = ctx.composition.request_steps
    for run, applies_to in steps[position:] if position else steps:
        position += 1
        if applies_to is not None and not applies_to(agent):
            continue
        events = await run(ctx, request)
        if ctx.end_invocation:
            return DONE, events or ()
        if events:
            return position, events
    await _declare_tools(ctx, request)
    return DONE, ()


async def _declare_tools(ctx: InvocationContext, request: LlmRequest) -> None:
    """Let each toolset and tool of the agent prepare the request, in order."""
    owner: Any = ctx.agent
    if not owner.tools:
        return
    plain: list[BaseTool] = []
    for entry in owner.tools:
        if type(entry) is not FunctionType and isinstance(entry, BaseToolset):
            context = Context(ctx)
            await entry.process_llm_request(tool_context=context, llm_request=request)
            tools = await entry.get_tools_with_prefix(context)
        else:
            tools = owner.as_tools(entry, ctx)
        for tool in tools:
            if type(tool).process_llm_request is BaseTool.process_llm_request:
                plain.append(tool)  # only declares itself: no context, no coroutine
                continue
            if plain:
                request.append_tools(plain)
                plain = []
            await tool.process_llm_request(tool_context=Context(ctx), llm_request=request)
    if plain:
        request.append_tools(plain)
