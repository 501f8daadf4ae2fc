"""Coordination: an agent whose sub-agents work for it, each as a tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Protocol

from newel.agents.opening import opening_of
from newel_kernel import Event, InvocationContext, Log, Meeting, merge_streams
from newel_types import FunctionCall

Events = AsyncGenerator[Event, None]


class Resumable(Protocol):
    """A sub-agent that works for another agent, which calls it as a tool."""

    def resume(self, ctx: InvocationContext, call: FunctionCall, since: int) -> Events:
        """Continue a call of an earlier turn, up to its result, or until the agent waits again."""


class Desk(Meeting):
    """Where the events of working sub-agents join the events of the agent that they work for."""

    __slots__ = ("turn",)

    def __init__(self) -> None:
        super().__init__()
        #: Tasks take turns: each may talk to the user.
        self.turn = asyncio.Lock()


async def coordinate(
    ctx: InvocationContext, tools: Mapping[str, Resumable], run: Callable[[InvocationContext], Events]
) -> Events:
    """The events of unfinished calls of sub-agents from earlier turns, then the agent's own events (`run`).

    If a sub-agent waits for the user or the outside, the invocation ends.
    """
    desk = Desk()
    view = ctx.model_copy(update={"meeting": desk})
    async with aclosing(merge_streams([_work(view, tools, run)], desk)) as events:
        async for event in events:
            yield event
    ctx.end_invocation = ctx.end_invocation or view.end_invocation


async def _work(
    ctx: InvocationContext, tools: Mapping[str, Resumable], run: Callable[[InvocationContext], Events]
) -> Events:
    for call, since in unfinished(ctx, tools):
        async with aclosing(tools[call.name or ""].resume(ctx, call, since)) as resumed:
            async for event in resumed:
                yield event
        if ctx.end_invocation:
            return
    async with aclosing(run(ctx)) as events:
        async for event in events:
            yield event


def unfinished(ctx: InvocationContext, tools: Mapping[str, Resumable]) -> list[tuple[FunctionCall, int]]:
    """The calls to sub-agents in the agent's latest event that have no result, with the index after that event."""
    log, name, scope = Log(ctx.session.events), ctx.agent.name, ctx.isolation_scope
    opening = opening_of(ctx)
    own = opening.own if opening is not None else None
    calls = log.calls(name, scope, own=own)
    if calls is None:
        return []
    for position, event in log.backwards():
        if position == calls.position:
            break
        if event.isolation_scope == scope and (own is None or event.id in own) and _speaks(event, name):
            return []
    return [(call, calls.position + 1) for call in calls.open if call.name in tools]


def _speaks(event: Event, name: str) -> bool:
    return event.author == name and event.content is not None and not event.get_function_responses()
