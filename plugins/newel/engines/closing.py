"""Closing: each call that a cancelled run left open gets its result, though no worker has the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from newel.engines.places import AppRunner, Place
from newel.policies.pairing import CANCELLED
from newel.questions.names import CONFIRMATION_CALL
from newel.sessions.out_of_band import OutOfBand
from newel_kernel import AlreadyExistsError, Event, Log, StaleSessionError
from newel_types import Content, FunctionCall, FunctionResponse, Part


async def close_calls(runner: AppRunner, where: Place, invocation_id: str) -> int:
    """Append a result to each open call and question of the invocation; return how many events that were.

    Each comes next after the events that were looked at: who answers, or closes, at the same time is first or late.
    """
    store, closed = OutOfBand(runner.session_service), 0
    while (session := await runner.session_service.open(**where)) is not None:
        count = len(session.events)
        if (event := next(_results(session.events, invocation_id), None)) is None:
            break
        try:
            await store.append_out_of_band(**where, event=event, after=count)
        except StaleSessionError:
            continue
        except AlreadyExistsError:  # a rewind has taken it back
            break
        closed += 1
    return closed


def _results(events: Sequence[Event], invocation_id: str) -> Iterator[Event]:
    """One event of results for each event that has open calls.

    A tool's call gets its result of the agent; what waits for the user is answered for the user, so that it no longer
    waits.
    """
    own = [event for event in Log(events).standing() if event.invocation_id == invocation_id]
    answered = {one.id for event in own for one in event.get_function_responses()}
    by_user = {one.id for event in own if event.author == "user" for one in event.get_function_responses()}
    for event in own:
        waiting = event.long_running_tool_ids or set()
        calls = event.get_function_calls()
        if open_ := [one for one in calls if one.id not in waiting and one.id not in answered]:
            yield _result(event, event.author, open_)
        if asked := [one for one in calls if one.id in waiting and one.id not in by_user]:
            yield _result(event, "user", asked)


def _result(event: Event, author: str, calls: Sequence[FunctionCall]) -> Event:
    return Event(
        id=f"{event.id}-{'declined' if author == 'user' else 'closed'}",
        invocation_id=event.invocation_id,
        author=author,
        branch=event.branch,
        isolation_scope=event.isolation_scope,
        content=Content(role="user", parts=[_part(call) for call in calls]),
    )


def _part(call: FunctionCall) -> Part:
    is_approval = call.name == CONFIRMATION_CALL  # its answer may have no other fields
    response = {"confirmed": False, "hint": CANCELLED} if is_approval else {"error": CANCELLED}
    return Part(function_response=FunctionResponse(id=call.id, name=call.name, response=response))
