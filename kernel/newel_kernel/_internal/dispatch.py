"""Tool dispatch: run the tool calls of one model response and make the event of their results."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from newel_kernel._internal import seam
from newel_kernel._internal.cancellation import cancellation_count, failure_of
from newel_kernel._internal.contracts.tool import BaseTool, UnknownTool
from newel_kernel._internal.errors import ToolAbortedError
from newel_kernel._internal.events import Event, EventActions
from newel_kernel._internal.invocation import OPEN_CALLS, InvocationContext
from newel_kernel._internal.lifecycle import tool_round
from newel_kernel._internal.observation import current_operation
from newel_kernel._internal.stash import Key
from newel_kernel._internal.values import Json
from newel_types import Content, FunctionCall, FunctionResponse, Part, deep_copy

Tools = Mapping[str, BaseTool]
_log = logging.getLogger(__name__)
#: The results of calls that had ended when their run was cancelled or failed; they are not committed.
UNCOMMITTED: Key[list[Event | None]] = Key("uncommitted results", list)


async def dispatch(ctx: InvocationContext, calls: Sequence[FunctionCall], tools: Tools) -> Event | None:
    """Run `calls` concurrently; return one event with their results in call order, or None if no call has a result.

    If a call fails, the others are cancelled and awaited before the error propagates.
    """
    if len(calls) == 1:  # the usual case needs no task
        count = cancellation_count()
        before = count()
        event = await _run(ctx, calls[0], tools)
        if count() <= before:
            return event
        ctx.stash[UNCOMMITTED].append(event)  # the tool swallowed its cancellation
        raise asyncio.CancelledError
    tasks = [seam.spawn(_run(ctx, call, tools), name=f"tool {call.name}") for call in calls]
    try:
        results = await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            if not task.cancelling():  # a second cancellation would stop its clean-up
                task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        ctx.stash[UNCOMMITTED] += [event for event in outcomes if isinstance(event, Event)]
        raise
    events = [event for event in results if event is not None]
    if len(events) > 1 and (parent := current_operation.get()) is not None:
        with parent.child("merge", "(merged)", ctx, input=events).running() as outcome:
            outcome.append(merge_results(events))
            return outcome[0]  # type: ignore[no-any-return]
    return merge_results(events) if events else None


def _run(ctx: InvocationContext, call: FunctionCall, tools: Tools) -> Coroutine[Any, Any, Event | None]:
    if (parent := current_operation.get()) is None:
        return _execute(ctx, call, tools)
    name = call.name or ""
    return parent.child("tool", name, ctx, tools.get(name), call).call(_execute, ctx, call, tools)


async def _execute(ctx: InvocationContext, call: FunctionCall, tools: Tools) -> Event | None:
    args: Json = deep_copy(call.args) if call.args else {}
    context = ctx.context_type(ctx, function_call_id=call.id)
    name, hooks, agent = call.name or "", ctx.composition.hooks, ctx.agent
    tool = tools.get(name)
    if tool is None:
        tool = UnknownTool(name, tools)
        result = await tool_round("on_tool_error_callback", tool, args, context, tool.error)
        if result is None:
            raise tool.error
        return _result_event(ctx, tool, call, result, context.touched_actions)
    result = None
    if "before_tool_callback" in hooks or getattr(agent, "before_tool_callback", None):
        result = await tool_round("before_tool_callback", tool, args, context)
    if result is None:
        try:
            result = await ctx.composition.call_tool(tool, args, context)
        except BaseException as raised:  # noqa: BLE001 - a plugin boundary; failure_of raises what must propagate
            failure = failure_of(raised, f"the tool {tool.name!r} ({tool.__newel_origin__})", ToolAbortedError)
            result = await tool_round("on_tool_error_callback", tool, args, context, failure)
            if result is None:
                raise failure from failure.__cause__
    if OPEN_CALLS in ctx.stash and call.id in ctx.stash[OPEN_CALLS]:
        return None
    if "after_tool_callback" in hooks or getattr(agent, "after_tool_callback", None):
        altered = await tool_round("after_tool_callback", tool, args, context, result)
        result = result if altered is None else altered
    if result is None and (tool.is_long_running or tool._defers_response):
        return None
    return _result_event(ctx, tool, call, result, context.touched_actions)


def _result_event(
    ctx: InvocationContext, tool: BaseTool, call: FunctionCall, result: object, actions: EventActions | None
) -> Event:
    fields = result if isinstance(result, dict) else {"result": result}
    response = FunctionResponse(id=call.id, name=tool.name, response=fields)
    content = Content([Part(None, None, response)], "user")
    # Actions of None are made when first touched.
    return Event(ctx.invocation_id, ctx.agent.name, content, None, actions, ctx.branch)


def merge_results(events: Sequence[Event]) -> Event:
    """Merge result events into one: the parts in order, the actions merged key by key."""
    first = events[0]
    if len(events) == 1:
        return first
    _log_lost_writes(events)
    parts = [part for event in events if event.content for part in event.content.parts or ()]
    touched = [event.touched_actions for event in events if event.touched_actions is not None]
    return Event(
        invocation_id=first.invocation_id,
        author=first.author,
        branch=first.branch,
        timestamp=first.timestamp,
        content=Content(role="user", parts=parts),
        actions=_merge_actions(touched) if touched else None,
    )


def _log_lost_writes(events: Sequence[Event]) -> None:
    """Log the state writes that are lost: if several calls of one response write a key, the last write wins."""
    writers: dict[str, Event] = {}
    for event in events:
        for key, value in event.touched_actions.state_delta.items() if event.touched_actions is not None else ():
            before = (other := writers.get(key, event)).actions.state_delta[key]
            if _merge_values(before, value) != _merge_values(value, before):  # the order decides
                names = [f"{r.name} ({r.id})" for e in (event, other) for r in e.get_function_responses()]
                _log.warning("the state key %r has the value of %s; the concurrent write of %s is lost", key, *names)
            writers[key] = event


def _merge_actions(actions: Sequence[EventActions]) -> EventActions:
    merged = actions[0].model_copy()
    for other in actions[1:]:
        for name in EventActions.field_names:
            value = getattr(other, name)
            if value is not None and value != {}:
                setattr(merged, name, _merge_values(getattr(merged, name), value))
    return merged


def _merge_values(present: object, value: object) -> object:
    if isinstance(present, dict) and isinstance(value, dict):
        return {**present, **{k: _merge_values(present.get(k), v) for k, v in value.items()}}
    return value
