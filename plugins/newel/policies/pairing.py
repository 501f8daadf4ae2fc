"""pairing: every tool call gets a result, even if its run was cancelled, failed or died with its process.

A provider refuses, for good, a conversation that holds a call without a result. So a run that ends early leaves a
result for each call that it did not finish: the tool's own, if it has one that is not stored yet. A new message
first answers the calls that a crash left open. Calls that wait for the outside stay open: long-running calls, and
calls that a sub-agent works on. If the agent in a tool waits for the user, and the user goes on with something
else, the call gets a provisional result.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Awaitable, Iterator, Sequence

from newel.contexts.stash_keys import MOVES
from newel.questions.provisional_results import PROVISIONAL
from newel.turns.delegates import is_delegate
from newel_kernel import (
    UNCOMMITTED,
    Epilogue,
    Event,
    InvocationContext,
    Key,
    LlmRequest,
    Log,
    Prologue,
    RequestProcessor,
    Session,
    hookimpl,
)
from newel_types import Content, FunctionCall, FunctionResponse, Part

CANCELLED = "The tool call was cancelled; whether it took effect is not known."
WAITING = "The agent waits for an answer of the user, and has no result yet."
INTERRUPTED = "The tool call was interrupted before it had a result; whether it took effect is not known."


class _Open:
    """The calls of a session that have no result yet, kept up to date event by event."""

    __slots__ = ("_count", "_last", "calls", "waiting")

    def __init__(self) -> None:
        #: Call id -> the call's event, and the call.
        self.calls: dict[str, tuple[Event, FunctionCall]] = {}
        #: The same, of calls whose agents wait for the user.
        self.waiting: dict[str, tuple[Event, FunctionCall]] = {}
        self._count = 0
        self._last: Event | None = None

    def update(self, events: Sequence[Event]) -> None:
        if self._count > len(events) or (self._count and events[self._count - 1] is not self._last):
            self.calls.clear()
            self.waiting.clear()  # the log is another one, or was cut
            self._count = 0
        for position in range(self._count, len(events)):
            event = events[position]
            if (actions := event.touched_actions) is not None and actions.rewind_before_invocation_id:
                self._restart(Log(events[: position + 1]))
            else:
                self._take(event)
        self._count = len(events)
        self._last = events[-1] if events else None

    def _restart(self, log: Log) -> None:
        """Start over with what is left after a rewind, which may also bring back what an earlier rewind took."""
        self.calls.clear()
        self.waiting.clear()
        for event in log.standing():
            self._take(event)

    def _take(self, event: Event) -> None:
        if event.isolation_scope is not None:
            entry = self.calls.pop(event.isolation_scope, None)  # a sub-agent took the call up
            if entry is not None and event.long_running_tool_ids and event.author == entry[0].author:
                # It works elsewhere: its caller passes its question on to the user.
                self.waiting[event.isolation_scope] = entry
        for part in (event.content.parts or ()) if event.content is not None else ():
            call, response = part.function_call, part.function_response
            if call is not None and call.id and call.id not in (event.long_running_tool_ids or ()):
                self.calls[call.id] = (event, call)
            elif response is not None and event.author != "user":  # these calls do not ask the user
                self.calls.pop(response.id or "", None)
                self.waiting.pop(response.id or "", None)


_OPEN = Key[_Open]("open calls", _Open)


def _open_calls(session: Session) -> _Open:
    state = session.stash[_OPEN]
    state.update(session.events)
    return state


def _results(calls: Sequence[tuple[Event, FunctionCall]], error: str) -> list[Event]:
    """An event of error results for the calls of each event, with the calling agent as their author."""
    call_events = {event.id: event for event, _ in calls}
    return [
        Event(
            invocation_id=event.invocation_id,
            author=event.author,
            branch=event.branch,
            isolation_scope=event.isolation_scope,
            content=Content(role="user", parts=[_result(call, error) for of, call in calls if of is event]),
        )
        for event in call_events.values()
    ]


def _result(call: FunctionCall, error: str) -> Part:
    return Part(function_response=FunctionResponse(id=call.id, name=call.name, response={"error": error}))


def _delegated(ctx: InvocationContext, event: Event, call: FunctionCall) -> bool:
    """Whether the call is for a sub-agent of its author: the sub-agent goes on with it."""
    author = ctx.agent.root_agent.find_agent(event.author)
    return author is not None and any(a.name == call.name and is_delegate(a) for a in author.sub_agents)


def open_(ctx: InvocationContext) -> Awaitable[list[Event]] | None:
    """Answer what earlier invocations left open, unless the message resumes the invocation that asked."""
    if not ctx.session.events:
        return None
    state = _open_calls(ctx.session)
    return _answers(ctx, state) if state.calls or state.waiting else None


async def _answers(ctx: InvocationContext, state: _Open) -> list[Event]:
    unanswered = [
        (event, call)
        for event, call in state.calls.values()
        if event.invocation_id != ctx.invocation_id and not _delegated(ctx, event, call)
    ]
    waiting = [(event, call) for event, call in state.waiting.values() if event.invocation_id != ctx.invocation_id]
    provisional = _results(waiting, WAITING)
    for event in provisional:
        event.custom_metadata = {PROVISIONAL: True}
    return _results(unanswered, INTERRUPTED) + provisional


def before(ctx: InvocationContext, request: LlmRequest) -> Awaitable[list[Event]] | None:
    """The same for a run that resumes its invocation without a message, before the model is shown the session."""
    return open_(ctx) if ctx.resumed else None


async def close(ctx: InvocationContext, error: BaseException | None) -> list[Event]:
    """Answer what this invocation leaves open, because it did not end by itself, and no other worker resumes it."""
    cancelled = isinstance(error, (CancelledError, GeneratorExit))
    why = CANCELLED if cancelled else f"The run failed before the tool call had a result ({type(error).__name__})."
    calls = dict(_open_calls(ctx.session).calls)
    ended = list(_ended(ctx, calls))
    if cancelled and (moves := ctx.stash.get(MOVES, None)) is not None and moves():
        return ended
    pending = [one for one in calls.values() if one[0].invocation_id == ctx.invocation_id]
    return ended + _results(pending, why)


def _ended(ctx: InvocationContext, calls: dict[str, tuple[Event, FunctionCall]]) -> Iterator[Event]:
    """The results of open calls that tools returned but that were not stored; these calls are no longer open."""
    for result in filter(None, ctx.stash.get(UNCOMMITTED, None) or ()):
        entries = [calls.pop(response.id or "", None) for response in result.get_function_responses()]
        if entries and entries[0] is not None:
            result.isolation_scope = entries[0][0].isolation_scope
            yield result


@hookimpl
def register_prologues() -> list[Prologue]:
    """The prologue `pairing`."""
    return [Prologue(name="pairing", run=open_)]


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `pairing`, before the conversation is put together."""
    return [RequestProcessor(name="pairing", run=before, before=("contents?",), on_continuation=True)]


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """The epilogue `pairing`."""
    return [Epilogue(name="pairing", run=close, on_failure=True)]
