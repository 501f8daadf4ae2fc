"""Answers: the user answered what a tool call asked for, so the call runs again and has its result.

A tool that needs something of the user (an approval, a credential) leaves a first result, and its agent asks with a
call of the framework's own (`adk_request_confirmation`, `adk_request_credential`). The user answers that call; what
its answer lets go ahead is the call that the log holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from newel.contexts.stash_keys import CONFIRMATIONS
from newel.questions.question import Kind, Question, find_question
from newel.turns.interruption import is_provisional
from newel_kernel import (
    BaseTool,
    Event,
    InvocationContext,
    Json,
    LlmRequest,
    Log,
    ToolConfirmation,
    declare_tools,
    response_ids,
    run_tools,
)
from newel_types import Content, FunctionCall, FunctionResponse, Part

#: In an event's `custom_metadata`: the ids of the requests whose calls ran and have no result yet.
TAKEN_UP = "taken_up"


@dataclass(frozen=True, slots=True)
class Answer:
    """A user's answer to a question of this agent."""

    question: Question
    response: FunctionResponse
    #: An earlier answer to the same request was acted on already: this one must change nothing.
    repeated: bool
    #: It came with the message of this very run, and is the only one: an earlier one may have run the call.
    new: bool


def open_answers(ctx: InvocationContext, name: str) -> list[Answer]:
    """The user's answers, in this invocation, to this agent's questions named `name`, that nobody has acted on yet."""
    log = Log(ctx.session.events)
    new = response_ids(ctx.user_content)
    result: list[Answer] = []
    for event in ctx.get_events(current_invocation=True):
        for response in event.get_function_responses() if event.author == "user" else ():
            if response.name and response.name != name:
                continue
            if (place := find_question(log, response.id)) is None:
                continue
            position, question = place
            if question.name != name or not question.is_of(ctx):
                continue
            answers = log.answers(question.id, position + 1)
            if not answers:
                continue  # this one was for an earlier question of the same id, or a rewind took it back
            acted = is_settled(log, answers[0], question)
            if acted and (log.events[answers[0]] is event or event is not log.events[-1]):
                continue  # done; or refused before, when it came
            only = len(answers) == 1
            result.append(Answer(question, response, repeated=acted, new=only and response.id in new))
    return result


def is_settled(log: Log, first: int, question: Question) -> bool:
    """Whether, after the answer at the position `first`, the call has a result, or a note tells that it runs."""
    for position, event in log.backwards():
        if position <= first:
            return False
        if event.author != "user" and (
            _is_result(event, question) or question.id in ((event.custom_metadata or {}).get(TAKEN_UP) or ())
        ):
            return True
    return False


def _is_result(event: Event, question: Question) -> bool:
    """Whether the event has a result of the question's tool call; one that asks for the credential again is none."""
    if all(response.id != question.behind for response in event.get_function_responses()):
        return False
    if question.kind is not Kind.CREDENTIAL:
        return True
    actions = event.touched_actions
    again = actions is not None and question.behind in actions.requested_auth_configs
    return not again and not is_provisional(event)


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
    call_event = Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=Content(role="model", parts=[Part(function_call=call) for call in calls]),
    )
    ctx.stash[CONFIRMATIONS].update(confirmations or {})
    try:
        return list(await run_tools(ctx, tools, call_event, calls))
    finally:  # a model may use the id of a call again
        for call_id in confirmations or ():
            ctx.stash[CONFIRMATIONS].pop(call_id, None)


def result_event(ctx: InvocationContext, results: Sequence[tuple[FunctionCall, Json]]) -> Event:
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
