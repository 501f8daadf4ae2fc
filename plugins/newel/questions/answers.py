"""Answers: the user answered what a tool call asked for, so the call runs again and has its result.

A tool that needs something of the user (an approval, a credential) leaves a first result, and its agent asks with a
call of the framework's own (`adk_request_confirmation`, `adk_request_credential`). The user answers that call;
the answer lets the tool call that the log holds go ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from newel.contexts.invocation_context import full_invocation
from newel.contexts.stash_keys import ANSWERED, CONFIRMATIONS
from newel.contexts.tool_input import Answered
from newel.questions.precedence import first_answer, is_own, may_act
from newel.questions.question import Question, find_question
from newel_kernel import (
    BaseTool,
    Event,
    InvocationContext,
    Json,
    LlmRequest,
    Log,
    ToolConfirmation,
    declare_tools,
    run_tools,
)
from newel_types import Content, FunctionCall, FunctionResponse, Part


@dataclass(frozen=True, slots=True)
class Answer:
    """A user's answer to a question of this agent; the first one that was stored."""

    question: Question
    response: FunctionResponse
    #: Whether it came with the message of this very run: then no earlier run can have run the call.
    new: bool


def open_answers(ctx: InvocationContext, name: str, log: Log) -> list[Answer]:
    """The answers, to this agent's questions named `name`, that this run is to act on."""
    ids = dict.fromkeys(
        response.id
        for event in full_invocation(ctx).get_events(current_invocation=True)
        for response in (event.get_function_responses() if event.author == "user" else ())
    )
    answers: list[Answer] = []
    for call_id in ids:
        if (place := find_question(log, call_id)) is None:
            continue  # a rewind took it back
        position, question = place
        if question.name != name or question.call_id is None or not question.is_of(ctx):
            continue
        first = first_answer(log, position, question)
        if first is not None and may_act(ctx, log, first, question):
            responses = filter(question.accepts, first.get_function_responses())
            answers += [Answer(question, response, new=is_own(ctx, first)) for response in responses]
    return answers


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
    answered: Mapping[str, Answered] | None = None,
) -> list[Event]:
    """Run `calls`, with the user's `confirmations` and inputs by call id; return their results and what the result
    chain adds."""
    if not calls:
        return []
    call_event = Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=Content(role="model", parts=[Part(function_call=call) for call in calls]),
    )
    with confirmed(ctx, confirmations, answered):
        return list(await run_tools(ctx, tools, call_event, calls))


@contextmanager
def confirmed(
    ctx: InvocationContext,
    confirmations: Mapping[str, ToolConfirmation] | None,
    answered: Mapping[str, Answered] | None = None,
) -> Iterator[None]:
    """While it is open, tools see the user's `confirmations` and inputs of their calls, by call id."""
    ctx.stash[CONFIRMATIONS].update(confirmations or {})
    if answered:
        ctx.stash[ANSWERED].update(answered)
    try:
        yield
    finally:  # a model may use the id of a call again
        for call_id in confirmations or ():
            ctx.stash[CONFIRMATIONS].pop(call_id, None)
        for call_id in answered or ():
            ctx.stash[ANSWERED].pop(call_id, None)


def result_event(ctx: InvocationContext, results: Sequence[tuple[FunctionCall, Json]]) -> Event:
    """An event of results that did not come from a tool."""
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
