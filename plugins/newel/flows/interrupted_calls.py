"""Interrupted calls: what a resumed invocation asks before it repeats a tool call that may have taken effect.

A call that a crash left without a result runs again, unless its tool says that it must not happen twice: then the
user is asked first. A call that had asked for something keeps its request; only its missing first result is added.
"""

from __future__ import annotations

from collections.abc import Sequence

from newel.claims.leasing import KnowsLapsed
from newel.claims.owners import is_alive, nameless, process_of
from newel.contexts.invocation_context import full_invocation
from newel.questions.answers import result_event, tools_of
from newel.questions.question import Question, questions_of
from newel.questions.requests import approval_request
from newel.turns.interruption import happens_once, interrupted_calls
from newel_kernel import Event, InvocationContext, ToolConfirmation
from newel_types import FunctionCall

WAITS = "This tool call waits for the user's answer."
_HINT = (
    "The tool call {name}() was interrupted, and it is not known whether it took effect. Approve to run it again, or "
    "reject to leave it, by responding with a FunctionResponse with an expected ToolConfirmation payload."
)
_ALIVE = " The process that began it ({process}) has not ended and may yet finish it: the call runs only after its end."
NOT_REPEATED = "The call was interrupted and, as the user decided, not repeated. Whether it took effect is not known."
_IN_USE = (
    "The call was interrupted and, although the user approved, not repeated: the process that began it has not ended "
    "and may yet finish it. Whether it took effect is not known. Do not call it again unless the user asks for that."
)


async def interrupted(ctx: InvocationContext) -> tuple[list[FunctionCall], list[FunctionCall]]:
    """Of this agent's calls without a result: those that have asked the user, and those that must not happen twice."""
    calls = interrupted_calls(ctx)
    if calls is None:
        return [], []
    ids = _questioned_ids(ctx)
    tools = await tools_of(ctx)
    return (
        [call for call in calls.open if call.id in ids],
        [call for call in calls.open if call.id not in ids and happens_once(call, tools)],
    )


def _questioned_ids(ctx: InvocationContext) -> set[str | None]:
    """The ids of the calls on whose behalf this agent has asked for something, in this invocation."""
    questions = (
        question
        for event in full_invocation(ctx).get_events(current_invocation=True)
        if event.author == ctx.agent.name
        for question in questions_of(event)
    )
    return {question.call_id for question in questions} - {None}


def repeat_request(ctx: InvocationContext, call: FunctionCall) -> FunctionCall:
    """The request to the user to let a call be repeated; it names a worker that never gave the session back."""
    store = ctx.session_service
    worker = store.lapsed_holder(ctx.session) if isinstance(store, KnowsLapsed) else None
    hint = _HINT.format(name=call.name)
    if worker is not None and is_alive(worker):
        hint += _ALIVE.format(process=process_of(worker))
    begun_by = nameless(worker) if worker is not None else None
    return approval_request(call, ToolConfirmation(hint=hint), repeats=True, begun_by=begun_by)


def why_not_again(question: Question) -> str | None:
    """Why a call must not run again though the user allows it: the process that began it is known not to have ended."""
    return _IN_USE if question.begun_by is not None and is_alive(question.begun_by) else None


def first_results(ctx: InvocationContext, calls: Sequence[FunctionCall]) -> Event:
    """The results that calls have while they wait for the user."""
    event = result_event(ctx, [(call, {"error": WAITS}) for call in calls])
    event.actions.skip_summarization = True
    return event
