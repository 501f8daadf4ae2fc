"""Answered calls: the user answered what a tool call asked for, so the call runs again and its result is told.

A tool that needs something of the user (an approval, a credential) leaves a first result, and its agent asks with a
call of the framework's own (`adk_request_confirmation`, `adk_request_credential`). The user answers that call; what
its answer lets go ahead is the call that the log holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from newel.contexts.stash_keys import CONFIRMATIONS
from newel_kernel import (
    BaseTool,
    Event,
    InvocationContext,
    LlmRequest,
    ToolConfirmation,
    backwards,
    declare_tools,
    response_ids,
    run_tools,
)
from newel_types import Content, FunctionCall, FunctionResponse, Part

#: In an event's `custom_metadata`: the ids of the requests whose calls ran and have no result yet.
TAKEN_UP = "taken_up"

#: The id of the call on whose behalf a request was made, from the request; None where it names none.
CallOf = Callable[[FunctionCall], str | None]


@dataclass(frozen=True, slots=True)
class Answer:
    """A user's answer to a request of this agent."""

    request: FunctionCall
    response: FunctionResponse
    #: The id of the tool call on whose behalf it was asked.
    call_id: str | None
    #: An earlier answer to the same request was acted on already: this one must change nothing.
    repeated: bool
    #: It came with the message of this very run, and is the only one: an earlier one may have run the call.
    new: bool


def brings_results(content: Content | None) -> bool:
    """Whether a message holds a function response; asked before every model call, so it is cheap."""
    if content is not None and content.parts:
        for part in content.parts:
            if part.function_response is not None:
                return True
    return False


def open_answers(ctx: InvocationContext, name: str, call_of: CallOf) -> list[Answer]:
    """The user's answers, in this invocation, to this agent's requests named `name`, that nobody has acted on yet."""
    events = ctx.session.events
    new = response_ids(ctx.user_content)
    found: list[Answer] = []
    for event in ctx.get_events(current_invocation=True):
        if event.author != "user":
            continue
        for response in event.get_function_responses():
            if response.name and response.name != name:
                continue
            asked = _request(ctx, events, name, response.id)
            if asked is None:
                continue
            position, request = asked
            call_id = call_of(request)
            first, only, acted = _history(events, position, request.id, call_id)
            if acted and (events[first] is event or event is not events[-1]):
                continue  # done; or refused before, when it came
            found.append(Answer(request, response, call_id, repeated=acted, new=only and response.id in new))
    return found


def _request(
    ctx: InvocationContext, events: Sequence[Event], name: str, request_id: str | None
) -> tuple[int, FunctionCall] | None:
    """This agent's request of that id and where it stands; none that a rewind took back.

    Only the runtime marks a call as one that waits.
    """
    if not request_id:
        return None
    for position, event in backwards(events):
        if request_id not in (event.long_running_tool_ids or ()):
            continue
        if event.author != ctx.agent.name or event.branch != ctx.branch or event.isolation_scope != ctx.isolation_scope:
            return None
        return next(
            ((position, call) for call in event.get_function_calls() if call.id == request_id and call.name == name),
            None,
        )
    return None


def _history(
    events: Sequence[Event], position: int, request_id: str | None, call_id: str | None
) -> tuple[int, bool, bool]:
    """Where the first answer to the request stands, whether it is the only one, and whether it was acted on."""
    first, only = len(events), True
    for index in range(position + 1, len(events)):
        event = events[index]
        ids = {response.id for response in event.get_function_responses()}
        if event.author == "user":
            if request_id in ids:
                first, only = min(index, first), index < first
        elif index > first and (call_id in ids or request_id in ((event.custom_metadata or {}).get(TAKEN_UP) or ())):
            return first, only, True
    return first, only, False


async def tools_of(ctx: InvocationContext) -> Mapping[str, BaseTool]:
    """The agent's tools by name: its own, and those that its toolsets give now."""
    request = LlmRequest()
    await declare_tools(ctx, request)
    return request.tools_dict


async def run_again(
    ctx: InvocationContext,
    calls: Sequence[FunctionCall],
    tools: Mapping[str, BaseTool],
    confirmations: Mapping[str, ToolConfirmation] | None = None,
) -> list[Event]:
    """Run `calls`, with the user's `confirmations` by call id; their results among what the result chain adds."""
    if not calls:
        return []
    asked = Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=Content(role="model", parts=[Part(function_call=call) for call in calls]),
    )
    ctx.stash[CONFIRMATIONS].update(confirmations or {})
    try:
        return list(await run_tools(ctx, tools, asked, calls))
    finally:  # a model may use the id of a call again
        for call_id in confirmations or ():
            ctx.stash[CONFIRMATIONS].pop(call_id, None)


def result_event(ctx: InvocationContext, results: Sequence[tuple[FunctionCall, dict[str, Any]]]) -> Event:
    """An event of results that no tool gave."""
    parts = [
        Part(function_response=FunctionResponse(id=call.id, name=call.name, response=response))
        for call, response in results
    ]
    event = Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=Content(role="user", parts=parts),
    )
    event.isolation_scope = ctx.isolation_scope
    return event
