"""Approvals: asking the user about tool calls, and acting on what the user has answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from newel.contexts.stash_keys import ANSWERED, ASKING, CONFIRMATIONS
from newel.contexts.tool_input import Answered, ToolInput
from newel.flows.interrupted_calls import (
    NOT_REPEATED,
    WAITS,
    first_results,
    interrupted,
    repeat_request,
    why_not_again,
)
from newel.questions.answers import Answer, open_answers, result_event, run_again, tools_of
from newel.questions.awaiting import WAITING
from newel.questions.confirmation import ConfirmationAnswer, UnusableAnswerError, read_answer
from newel.questions.names import CONFIRMATION_CALL, INPUT_CALL
from newel.questions.precedence import BEGUN, TAKEN_UP, never_began, overtaken, refusal, stored_log
from newel.questions.question import KEPT, Kind
from newel.questions.requests import approval_request, request_event, tool_input_request
from newel.questions.values import answer_value
from newel.tools.function_tool import FunctionTool, read_arguments
from newel.turns.interruption import happens_once
from newel_kernel import BaseTool, Event, InvocationContext, Json, Log, ToolConfirmation
from newel_types import FunctionCall, as_plain


def ask_for_approval(
    ctx: InvocationContext, call_event: Event, confirmations: Mapping[str, ToolConfirmation]
) -> Event | None:
    """The event that asks the user about the calls of `call_event` that `confirmations` has, by call id."""
    calls = {call.id: call for call in call_event.get_function_calls()}
    requests = [
        approval_request(calls[id_], one, answered=_answered(ctx, id_))
        for id_, one in confirmations.items()
        if id_ in calls
    ]
    return request_event(ctx, requests) if requests else None


def _answered(ctx: InvocationContext, call_id: str) -> Answered | None:
    """What a call that asks for an approval gets back when it runs again: an input given before, and what it keeps."""
    given = ctx.stash[ANSWERED].get(call_id) if ANSWERED in ctx.stash else None
    asking = ctx.stash[ASKING].pop(call_id, None) if ASKING in ctx.stash else None
    if given is None and asking is None:
        return None
    return Answered(given.input if given is not None else None, asking.kept if asking is not None else None)


def ask_for_input(ctx: InvocationContext, call_event: Event, results: Event) -> Event | None:
    """The event that asks the user for what the calls of `call_event` need that have asked for an input."""
    requests = []
    for call in call_event.get_function_calls():
        asking = ctx.stash[ASKING].pop(call.id or "", None)
        if asking is not None and asking.request is not None:
            confirmation = ctx.stash[CONFIRMATIONS].get(call.id)
            requests.append(tool_input_request(call, asking.request, confirmation, asking.kept))
            _stand_in(results, str(call.id))
    return request_event(ctx, requests) if requests else None


def _stand_in(results: Event, call_id: str) -> None:
    """Note that the call waits, and give it a first result if its tool gave none."""
    results.custom_metadata = {**(results.custom_metadata or {})}
    results.custom_metadata[WAITING] = [*results.custom_metadata.get(WAITING, ()), call_id]
    for response in results.get_function_responses():
        if response.id == call_id and response.response == {"result": None}:
            response.response = {"error": WAITS}


async def act_on_answers(ctx: InvocationContext) -> list[Event]:
    """Run what the user has approved, and refuse what does not fit."""
    events = await _mended(ctx) if ctx.resumed else []
    if _open_answers(ctx, Log(ctx.session.events)):
        log = await stored_log(ctx)
        verdicts = _Verdicts(ctx, log, await tools_of(ctx))
        for answer in _open_answers(ctx, log):
            verdicts.add(answer)
        events += [refusal(ctx, question, question.id) for question in overtaken(ctx, log)]
        events += await verdicts.carry_out()
    return events


def _open_answers(ctx: InvocationContext, log: Log) -> list[Answer]:
    return [answer for name in (CONFIRMATION_CALL, INPUT_CALL) for answer in open_answers(ctx, name, log)]


async def _mended(ctx: InvocationContext) -> list[Event]:
    """What a crash left missing: first results of calls that wait, requests for calls that must not happen twice."""
    calls, once = await interrupted(ctx)
    events = [first_results(ctx, calls)] if calls else []
    return events + (_ask_to_repeat(ctx, once) if once else [])


def _ask_to_repeat(ctx: InvocationContext, calls: Sequence[FunctionCall]) -> list[Event]:
    return [request_event(ctx, [repeat_request(ctx, call) for call in calls]), first_results(ctx, calls)]


class _Verdicts:
    """The calls that the answers of one message let go ahead, and those that they do not."""

    def __init__(self, ctx: InvocationContext, log: Log, tools: Mapping[str, BaseTool]) -> None:
        self._ctx = ctx
        self._log = log
        self._tools = tools
        self._calls: dict[str, FunctionCall] = {}
        self._requests: dict[str, str] = {}
        self._confirmations: dict[str, ToolConfirmation] = {}
        self._refused: list[tuple[FunctionCall, Json]] = []
        self._doubtful: dict[str, FunctionCall] = {}
        self._answers: dict[str, ConfirmationAnswer] = {}
        self._answered: dict[str, Answered] = {}

    def add(self, answer: Answer) -> None:
        """Judge one answer."""
        call = FunctionCall.model_validate(answer.question.original)  # with the arguments that the user was shown
        call_id = str(call.id)
        if call_id in self._doubtful:
            return  # the user is asked again: another answer to the old request changes nothing
        if answer.question.kind is Kind.INPUT:
            self._add_input(answer, call)
            return
        try:
            verdict = read_answer(answer.response, call)
            if self._answers.setdefault(call_id, verdict) != verdict:
                raise UnusableAnswerError("two answers in one message contradict each other")
            if verdict.edited_args is not None:
                check_fit(self._tools.get(call.name or ""), verdict.edited_args)
                call.args = verdict.edited_args
        except UnusableAnswerError as error:
            self._calls.pop(call_id, None)
            text = f"This tool call is not approved and was not run. The answer to the request is refused: {error}"
            self._refused.append((call, {"error": text}))
            return
        if answer.question.repeats and not verdict.confirmed:
            self._refused.append((call, {"error": NOT_REPEATED}))
        elif verdict.confirmed and (problem := why_not_again(answer.question)) is not None:
            self._refused.append((call, {"error": problem}))
        elif verdict.confirmed and self._may_have_begun(answer, call):
            self._doubtful[call_id] = call  # approved before, by a run that may have crashed or may still go on
        else:
            self._calls[call_id] = call
            self._requests[call_id] = answer.question.id
            self._confirmations[call_id] = ToolConfirmation(
                hint=verdict.hint or "", confirmed=verdict.confirmed, payload=verdict.payload
            )
            if (answered := answer.question.answered) is not None:
                self._answered[call_id] = answered

    def _add_input(self, answer: Answer, call: FunctionCall) -> None:
        """Let the call run again with the input that the user gave, under the approval that it had."""
        question, call_id = answer.question, str(call.id)
        if self._may_have_begun(answer, call):
            self._doubtful[call_id] = call
            return
        value = answer_value(question.id, answer.response.response or {}, question.schema)
        self._calls[call_id] = call
        self._requests[call_id] = question.id
        self._answered[call_id] = Answered(ToolInput(value), question.args.get(KEPT))
        if (confirmation := question.confirmation) is not None:
            self._confirmations[call_id] = confirmation

    def _may_have_begun(self, answer: Answer, call: FunctionCall) -> bool:
        """Whether an earlier run may have begun the call, which must not happen twice."""
        once = not answer.new and happens_once(call, self._tools)
        return once and not never_began(self._ctx, self._log, answer.question)

    async def carry_out(self) -> list[Event]:
        """Run what is approved (or rejected by the tool itself); return the events of all that has a result now."""
        ctx = self._ctx
        events = [result_event(ctx, self._refused)] if self._refused else []
        if self._doubtful:
            events += _ask_to_repeat(ctx, list(self._doubtful.values()))
        ctx.stash[BEGUN].update(self._requests.values())
        again = await run_again(ctx, list(self._calls.values()), self._tools, self._confirmations, self._answered)
        for event in again:
            self._note_edits(event)
        return events + again + self._note_of_runs(ctx, again)

    def _note_of_runs(self, ctx: InvocationContext, again: Sequence[Event]) -> list[Event]:
        """The note of the approved calls that ran and get their results later: they must not run again."""
        answered = {response.id for event in again for response in event.get_function_responses()}
        pending = [
            self._requests[call_id]
            for call_id, call in self._calls.items()
            if call.id not in answered and getattr(self._tools.get(call.name or ""), "is_long_running", False)
        ]
        if not pending:
            return []
        note = Event(
            invocation_id=ctx.invocation_id,
            author=ctx.agent.name,
            branch=ctx.branch,
            custom_metadata={TAKEN_UP: pending},
        )
        note.isolation_scope = ctx.isolation_scope
        return [note]

    def _note_edits(self, event: Event) -> None:
        """Record on an event of results the arguments with which the calls really ran."""
        ids = {response.id for response in event.get_function_responses()}
        edited = {id_: one.edited_args for id_, one in self._answers.items() if id_ in ids and one.edited_args}
        if edited:
            event.custom_metadata = {**(event.custom_metadata or {}), "edited_args": edited}


def check_fit(tool: BaseTool | None, args: Json) -> None:
    """Raise UnusableAnswerError if `args` do not fit `tool`."""
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
    if problem is None and isinstance(tool, FunctionTool):  # every value must fit its annotation
        problem = read_arguments(tool).prepare(args, strict=True)[1]
    if problem is not None:
        raise UnusableAnswerError(f"the edited arguments do not fit: {problem}")
