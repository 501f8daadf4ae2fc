"""confirmation: a tool call that needs the user's approval is asked about, and runs once it is approved (S0 §6.3).

What runs is the call that the request names, with the arguments that the user was asked about; only an explicit edit
in the answer changes them. An answer that does not fit is refused with an error result, and one request has one answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from newel.contexts.call_ids import new_call_id
from newel.flows import answered_calls as answered
from newel.flows.answered_calls import Answer
from newel.flows.confirmation_answer import ConfirmationAnswer, UnusableAnswerError, read_answer
from newel.flows.interrupted_calls import NOT_REPEATED, first_results, happens_once, interrupted, repeat_request
from newel.flows.visibility import CONFIRMATION_CALL
from newel_kernel import (
    BaseTool,
    Event,
    InvocationContext,
    LlmRequest,
    RequestProcessor,
    ResultProcessor,
    ToolConfirmation,
    hookimpl,
)
from newel_types import Content, FunctionCall, Part, as_plain

_CALL, _CONFIRMATION = "originalFunctionCall", "toolConfirmation"
#: Marks a request to repeat a call that was interrupted.
_REPEATS = "repeats"


async def after(ctx: InvocationContext, call_event: Event, result_event: Event) -> list[Event] | None:
    """Ask the user about the calls whose tools ask for it: one event, before the results."""
    actions = result_event.touched_actions
    if actions is None or not actions.requested_tool_confirmations:
        return None
    calls = {call.id: call for call in call_event.get_function_calls()}
    requests = [
        _request(calls[call_id], confirmation)
        for call_id, confirmation in actions.requested_tool_confirmations.items()
        if call_id in calls
    ]
    return [request_event(ctx, requests)] if requests else None


def _request(call: FunctionCall, confirmation: ToolConfirmation, *, repeats: bool = False) -> FunctionCall:
    named = {"id": call.id, "name": call.name, "args": as_plain(call.args or {})}
    told = confirmation.model_dump(mode="json", by_alias=True, exclude_none=True)
    args = {_CALL: named, _CONFIRMATION: told, **({_REPEATS: True} if repeats else {})}
    return FunctionCall(id=new_call_id(), name=CONFIRMATION_CALL, args=args)


def request_event(ctx: InvocationContext, requests: list[FunctionCall]) -> Event:
    """The event that asks the user."""
    event = Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=Content(role="user", parts=[Part(function_call=request) for request in requests]),
        long_running_tool_ids={str(request.id) for request in requests},
    )
    event.isolation_scope = ctx.isolation_scope
    return event


def before(ctx: InvocationContext, request: LlmRequest) -> Awaitable[list[Event]] | None:
    """Run what the user has approved, and refuse what does not fit; before the model is asked again."""
    agent: Any = ctx.agent
    if not agent.tools or not (ctx.resumed or answered.brings_results(ctx.user_content)):
        return None
    return _act(ctx)


async def _act(ctx: InvocationContext) -> list[Event]:
    events = await _mended(ctx) if ctx.resumed else []
    answers = answered.open_answers(ctx, CONFIRMATION_CALL, _call_id)
    if answers and all(answer.repeated for answer in answers):
        ctx.end_invocation = True
        events.append(_refusal(ctx, answers[0]))
    elif answers:
        tools = await answered.tools_of(ctx)
        verdicts = _Verdicts(tools)
        for answer in answers:
            if not answer.repeated:
                verdicts.add(answer)
        events += await verdicts.carry_out(ctx)
    return events


async def _mended(ctx: InvocationContext) -> list[Event]:
    """What a crash has left out: first results of calls that wait, requests for calls that must not happen twice."""
    asked, once = await interrupted(ctx)
    events = [first_results(ctx, asked)] if asked else []
    return events + (_ask_to_repeat(ctx, once) if once else [])


def _ask_to_repeat(ctx: InvocationContext, calls: Sequence[FunctionCall]) -> list[Event]:
    requests = [_request(call, repeat_request(call), repeats=True) for call in calls]
    return [request_event(ctx, requests), first_results(ctx, calls)]


class _Verdicts:
    """What the answers of one message let go ahead, and what they do not."""

    def __init__(self, tools: Mapping[str, BaseTool]) -> None:
        self._tools = tools
        self._calls: dict[str, FunctionCall] = {}
        self._requests: dict[str, str] = {}
        self._confirmations: dict[str, ToolConfirmation] = {}
        self._refused: list[tuple[FunctionCall, dict[str, Any]]] = []
        self._doubtful: dict[str, FunctionCall] = {}
        self._answers: dict[str, ConfirmationAnswer] = {}

    def add(self, answer: Answer) -> None:
        """Judge one answer."""
        call = _original(answer.request)
        call_id = str(call.id)
        if call_id in self._doubtful:
            return  # the user is asked anew: another answer to the old request changes nothing
        try:
            said = read_answer(answer.response, call)
            if self._answers.setdefault(call_id, said) != said:
                raise UnusableAnswerError("two answers in one message contradict each other")
            if said.edited_args is not None:
                check_fit(self._tools.get(call.name or ""), said.edited_args)
                call.args = said.edited_args
        except UnusableAnswerError as error:
            self._calls.pop(call_id, None)
            text = f"This tool call is not approved and was not run. The answer to the request is refused: {error}"
            self._refused.append((call, {"error": text}))
            return
        if (answer.request.args or {}).get(_REPEATS) and not said.confirmed:
            self._refused.append((call, {"error": NOT_REPEATED}))
        elif said.confirmed and not answer.new and happens_once(call, self._tools):
            self._doubtful[call_id] = call  # approved before, by a run that may have crashed or still goes on
        else:
            self._calls[call_id] = call
            self._requests[call_id] = str(answer.request.id)
            self._confirmations[call_id] = ToolConfirmation(
                hint=said.hint or "", confirmed=said.confirmed, payload=said.payload
            )

    async def carry_out(self, ctx: InvocationContext) -> list[Event]:
        """Run what is approved (or rejected by the tool itself); the events of all that has a result now."""
        events = [answered.result_event(ctx, self._refused)] if self._refused else []
        if self._doubtful:
            events += _ask_to_repeat(ctx, list(self._doubtful.values()))
        again = await answered.run_again(ctx, list(self._calls.values()), self._tools, self._confirmations)
        for event in again:
            self._note_edits(event)
        return events + again + self._taken_up(ctx, again)

    def _taken_up(self, ctx: InvocationContext, again: Sequence[Event]) -> list[Event]:
        """The note of the approved calls that ran and get their results later: they must not run again."""
        told = {response.id for event in again for response in event.get_function_responses()}
        left = [
            self._requests[call_id]
            for call_id, call in self._calls.items()
            if call.id not in told and getattr(self._tools.get(call.name or ""), "is_long_running", False)
        ]
        if not left:
            return []
        note = Event(
            invocation_id=ctx.invocation_id,
            author=ctx.agent.name,
            branch=ctx.branch,
            custom_metadata={answered.TAKEN_UP: left},
        )
        note.isolation_scope = ctx.isolation_scope
        return [note]

    def _note_edits(self, event: Event) -> None:
        """Record on an event of results with which arguments the calls really ran."""
        ids = {response.id for response in event.get_function_responses()}
        edited = {key: said.edited_args for key, said in self._answers.items() if key in ids and said.edited_args}
        if edited:
            event.custom_metadata = {**(event.custom_metadata or {}), "edited_args": edited}


def check_fit(tool: BaseTool | None, args: dict[str, Any]) -> None:
    """Raise UnusableAnswerError where `args` are none for `tool`."""
    problem = None
    declaration = tool._get_declaration() if tool is not None else None
    schema = as_plain(declaration.parameters_json_schema) if declaration is not None else None
    if tool is None:
        problem = "the agent does not have the tool any more"
    elif isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        names = schema["properties"]
        if unknown := sorted(args.keys() - names.keys()):
            problem = f"there is no {', '.join(unknown)}; the parameters are {', '.join(names)}"
        elif missing := sorted(set(schema.get("required") or ()) - args.keys()):
            problem = f"{', '.join(missing)} missing"
    if problem is None and (check := getattr(tool, "misfit", None)) is not None:  # a tool that can say more
        problem = check(args)
    if problem is not None:
        raise UnusableAnswerError(f"the edited arguments do not fit: {problem}")


def _refusal(ctx: InvocationContext, answer: Answer) -> Event:
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        error_code="ANSWERED_BEFORE",
        error_message=f"The request {answer.request.id} was answered before; the tool call was not run again.",
    )


def _original(request: FunctionCall) -> FunctionCall:
    """The call that a request is about, as the user was shown it."""
    return FunctionCall.model_validate((request.args or {}).get(_CALL) or {})


def _call_id(request: FunctionCall) -> str | None:
    return _original(request).id


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `confirmation`."""
    return [RequestProcessor(name="confirmation", run=before)]


@hookimpl
def register_result_processors() -> list[ResultProcessor]:
    """The result processor `confirmation`, before the results."""
    return [ResultProcessor(name="confirmation", run=after, applies_to=attrgetter("touched_actions"))]
