"""failure_events: an invocation that fails leaves an error event, so that its session records what happened.

The event also says which of the user's answers the run had not used yet: what they allow has never begun.
"""

from __future__ import annotations

from newel.contexts.stash_keys import SECRETS
from newel.policies.tool_errors import message_of
from newel.questions.precedence import NOT_BEGUN, unused_answers
from newel_kernel import Epilogue, Event, FencedError, InvocationContext, hookimpl

#: The metadata of an error event: it says that the run has failed, and no follower of the run gets it.
_FAILURE = "newel.failure"


def is_failure(event: Event) -> bool:
    """Whether an event records that its run has failed; its message is that of the exception."""
    return event.error_code is not None and bool((event.custom_metadata or {}).get(_FAILURE))


async def record(ctx: InvocationContext, error: BaseException | None) -> list[Event] | None:
    """The error event; None if nothing failed, or if the failure already has one, as that of a graph's node."""
    if not isinstance(error, Exception) or isinstance(error, FencedError):
        return None
    secrets = ctx.stash.get(SECRETS, None)
    masked = error if secrets is None else secrets.mask_error(error)
    events = [e for e in ctx.session.events if e.invocation_id == ctx.invocation_id and e.author != "user"]
    failures = _failures(error)
    # By the last author in the conversation: the next message goes to the same agent as without the failure.
    author = next((event.author for event in reversed(events) if event.branch is None), ctx.agent.name)
    event = Event(invocation_id=ctx.invocation_id, author=author)
    if unused := unused_answers(ctx):
        event.custom_metadata = {NOT_BEGUN: unused}
    if not any(_is_of(one, failure) for one in events for failure in failures):
        event.error_code, event.error_message = _code(error), message_of(masked)
        event.custom_metadata = {**(event.custom_metadata or {}), _FAILURE: True}
    elif not unused:
        return None
    return [event]


def _failures(error: Exception) -> list[Exception]:
    """The error, the one in it and its cause: any of these may have an event already."""
    errors = (error, getattr(error, "error", None), error.__cause__)
    return [one for one in errors if isinstance(one, Exception)]


def _is_of(event: Event, error: Exception) -> bool:
    codes = (_code(error), str(getattr(error, "code", None)))
    return event.error_code in codes and event.error_message == str(error)


def _code(error: Exception) -> str:
    return type(error).__name__


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """The epilogue `failure_events`."""
    return [Epilogue(name="failure_events", run=record, on_failure=True)]
