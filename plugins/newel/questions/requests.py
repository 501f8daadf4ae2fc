"""Requests: the framework's own calls with which an agent asks the user, and their event."""

from __future__ import annotations

from collections.abc import Sequence

from newel.contexts.call_ids import new_call_id
from newel.contexts.tool_input import Answered, InputRequest
from newel.questions.names import CONFIRMATION_CALL, INPUT_CALL
from newel.questions.question import BEGUN_BY, CALL, CONFIRMATION, INPUT, KEPT, REPEATS
from newel_kernel import Event, InvocationContext, Json, ToolConfirmation
from newel_types import Content, FunctionCall, Part, as_plain


def new_request(name: str, args: Json) -> FunctionCall:
    """A call of the framework's own, with an id of ours."""
    return FunctionCall(id=new_call_id(), name=name, args=args)


def approval_request(
    call: FunctionCall,
    confirmation: ToolConfirmation,
    *,
    repeats: bool = False,
    begun_by: str | None = None,
    answered: Answered | None = None,
) -> FunctionCall:
    """Ask whether the tool call may run; with `repeats` it was interrupted, and `begun_by` may still be running it.

    `answered` is what the call gets back when it runs again.
    """
    args = {**_about(call, confirmation), **_answered(answered)}
    if repeats:
        args[REPEATS] = True
    if begun_by is not None:
        args[BEGUN_BY] = begun_by
    return new_request(CONFIRMATION_CALL, args)


def tool_input_request(
    call: FunctionCall, request: InputRequest, confirmation: ToolConfirmation | None, kept: object
) -> FunctionCall:
    """Ask for the input that a tool call needs; `confirmation` is the approval under which it runs."""
    made = input_request(new_call_id(), request.message, request.payload, request.schema)
    about = _about(call, confirmation)
    return made.model_copy(update={"args": {**(made.args or {}), **about, **_answered(Answered(kept=kept))}})


def _about(call: FunctionCall, confirmation: ToolConfirmation | None) -> Json:
    about: Json = {CALL: {"id": call.id, "name": call.name, "args": as_plain(call.args or {})}}
    if confirmation is not None:
        about[CONFIRMATION] = confirmation.model_dump(mode="json", by_alias=True, exclude_none=True)
    return about


def _answered(answered: Answered | None) -> Json:
    made: Json = {}
    if answered is not None and answered.input is not None:
        made[INPUT] = {"value": answered.input.value}
    if answered is not None and answered.kept is not None:
        made[KEPT] = answered.kept
    return made


def input_request(call_id: str, message: str | None, payload: object, schema: Json | None) -> FunctionCall:
    """Ask for a value that fits the JSON schema; `payload` is data for the program that shows it."""
    args = {"interruptId": call_id, "payload": payload, "message": message, "response_schema": schema}
    return FunctionCall(id=call_id, name=INPUT_CALL, args=args)


def request_event(
    ctx: InvocationContext, requests: Sequence[FunctionCall], *, role: str | None = "user", scope: str | None = None
) -> Event:
    """The event with which the agent that runs asks the user; in the isolation `scope`, if one is named."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        isolation_scope=ctx.isolation_scope if scope is None else scope,
        content=Content(role=role, parts=[Part(function_call=request) for request in requests]),
        long_running_tool_ids={str(request.id) for request in requests},
    )
