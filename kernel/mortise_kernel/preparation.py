"""Preparation of a model request: the request chain, then the agent's tools (S0 §2.5, §3.9)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from mortise_kernel.context import Context
from mortise_kernel.contracts.request import LlmRequest
from mortise_kernel.contracts.tool import BaseTool, BaseToolset
from mortise_kernel.events import Event
from mortise_kernel.invocation import InvocationContext


async def prepare(ctx: InvocationContext, request: LlmRequest) -> AsyncGenerator[Event, None]:
    """Run the request chain and declare the tools; what the processors report is yielded."""
    agent = ctx.agent
    for processor in ctx.composition.request_chain:
        if processor.applies_to is None or processor.applies_to(agent):
            events = await processor.run(ctx, request)
            if events:
                for event in events:
                    yield event
            if ctx.end_invocation:
                return
    await _declare_tools(ctx, request)


async def _declare_tools(ctx: InvocationContext, request: LlmRequest) -> None:
    owner: Any = ctx.agent
    plain: list[BaseTool] = []
    for entry in owner.tools:
        if isinstance(entry, BaseToolset):
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
