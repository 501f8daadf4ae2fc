"""Interruption: the calls that a run left without a result when its process ended, and how they get one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from newel_kernel import BaseTool, Calls, Effect, Event, InvocationContext, Log, run_tools
from newel_types import Content, FunctionCall, FunctionResponse, Part

_INTERRUPTED = (
    "The call was interrupted. It must not run twice, so it was not repeated. Whether it took effect is unknown."
)


def interrupted_calls(ctx: InvocationContext) -> Calls | None:
    """The latest event with calls of the agent that runs, if some of the calls have no result."""
    calls = Log(_without_unasked(ctx.session.events)).calls(
        ctx.agent.name, ctx.isolation_scope, branch=ctx.branch, invocation_id=ctx.invocation_id
    )
    return calls if calls is not None and calls.open else None


def _without_unasked(events: Sequence[Event]) -> list[Event]:
    """The events without responses of the user: the calls that are looked for were not questions to the user.

    The results of sub-agents bear the user's name as well; each has worked in a scope of its call's id.
    """
    scopes = {event.isolation_scope for event in events}
    return [
        event
        for event in events
        if event.author != "user" or all(one.id in scopes for one in event.get_function_responses())
    ]


async def finish_calls(ctx: InvocationContext, tools: Mapping[str, BaseTool]) -> Iterable[Event]:
    """The results of the calls that an interrupted run left open; what must not happen twice is not repeated."""
    if (calls := interrupted_calls(ctx)) is None:
        return ()
    once = [call for call in calls.open if happens_once(call, tools)]
    again = [call for call in calls.open if call not in once]
    refused = [_refusal(ctx, tools[call.name or ""], call) for call in once]
    return [*refused, *(await run_tools(ctx, tools, calls.event, again) if again else ())]


def happens_once(call: FunctionCall, tools: Mapping[str, BaseTool]) -> bool:
    """Whether the call's tool must not run twice."""
    tool = tools.get(call.name or "")
    return tool is not None and tool.effect == Effect.AT_MOST_ONCE


def _refusal(ctx: InvocationContext, tool: BaseTool, call: FunctionCall) -> Event:
    response = FunctionResponse(id=call.id, name=tool.name, response={"error": _INTERRUPTED})
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=Content(role="user", parts=[Part(function_response=response)]),
    )
