"""Precedence: which answer to a question acts.

The first stored answer does, in the order of the log, and the run that stored it is the one that acts. A later answer
changes nothing: the first has been acted on, or the run that stored it may still be working. Only if that run is
known to have ended and failed, a later answer is a request to go on with the first one. The call of a long-running
tool asks nothing of this kind: it takes any number of responses, and each is told to the model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum, auto

from newel.contexts.invocation_context import full_invocation
from newel.questions.calls import answers
from newel.questions.provisional_results import is_provisional
from newel.questions.question import Kind, Question, find_question
from newel_kernel import Event, InvocationContext, Key, Log
from newel_types import Part

#: In an event's `custom_metadata`: the ids of the requests whose calls ran and have no result yet.
TAKEN_UP = "newel.taken_up"
#: In an event's `custom_metadata`: the ids of the events of answers whose run failed before it began what they allow.
NOT_BEGUN = "newel.not_begun"
#: In the `custom_metadata` of an answer's event: it was stored for a run that a worker resumes later.
HANDED_OVER = "newel.handed_over"
#: In an event's `custom_metadata`: the ids of the events of such answers that a run has made its own.
TAKEN_IN = "newel.taken_in"
#: The ids of the requests whose calls this run has begun.
BEGUN: Key[set[str]] = Key("begun calls", set)
#: The events of the message with which this run of the invocation began.
MESSAGES: Key[list[Event]] = Key("messages", list)
#: The ids of the questions that the message answers too late; none of these answers is stored.
LATE: Key[set[str]] = Key("late answers", set)


class Work(Enum):
    """How far the run that stored an answer has come."""

    RUNNING = auto()
    DONE = auto()
    FAILED = auto()


#: By the id of an answer's event: how far the run that stored it is. On the session, so for the runs of this process.
_WORK: Key[dict[str, Work]] = Key("runs that act on answers", dict)


def first_answer(log: Log, position: int, question: Question) -> Event | None:
    """The event of the first answer that fits the question, whose own event is at `position`."""
    for index in answers(log, question.id, position + 1):
        if any(map(question.accepts, log.events[index].get_function_responses())):
            return log.events[index]
    return None


def answered_id(part: Part) -> str | None:
    """The id of the call that the part answers, or None."""
    return part.function_response.id if part.function_response is not None else None


def surely_late(ctx: InvocationContext, log: Log, ids: Collection[str | None]) -> list[str]:
    """Of the questions `ids`, those whose first answer went to a run that has acted, or is known to be working.

    Whether a run of another process is working shows only once the message is stored and the session's lease is taken.
    """
    places = _answered_by_others(ctx, log, ids)
    return [question.id for first, question in places if _is_taken(ctx, log, first, question) is True]


def late_answers(ctx: InvocationContext, log: Log) -> list[str]:
    """Of the questions that this run's message answers, those of another run, which must not be acted on again."""
    places = _answered_by_others(ctx, log, _answered(ctx))
    return [question.id for first, question in places if _is_late(ctx, log, first, question)]


def _answered_by_others(
    ctx: InvocationContext, log: Log, ids: Collection[str | None]
) -> Iterator[tuple[Event, Question]]:
    """Of the questions `ids`, those whose first answer went to another run, each with the event of that answer."""
    for call_id in sorted(filter(None, ids)):
        if (place := find_question(log, call_id)) is not None and place[1].kind is not Kind.RESULT:
            first = first_answer(log, *place)
            if first is not None and not is_own(ctx, first):
                yield first, place[1]


def late_ids(ctx: InvocationContext) -> list[str]:
    """The ids of the questions whose answers in this run's message come too late, stored or not."""
    refused = ctx.stash.get(LATE, None) or ()
    return sorted({*refused, *late_answers(ctx, Log(ctx.session.events))})


def overtaken(ctx: InvocationContext, log: Log) -> list[Question]:
    """The running agent's questions to which another answer came first, as only the stored `log` shows."""
    ids = late_ids(ctx)
    places = (find_question(log, call_id) for call_id in late_answers(ctx, log) if call_id not in ids)
    return [place[1] for place in places if place is not None and place[1].is_of(ctx)]


def answered_again(ctx: InvocationContext) -> list[str]:
    """The ids of the questions that this run's message answers again, if the run of the first answer has failed."""
    log = Log(ctx.session.events)
    places = _answered_by_others(ctx, log, _answered(ctx))
    return [question.id for first, question in places if not _is_late(ctx, log, first, question)]


def answers_more(ctx: InvocationContext, late: Collection[str]) -> bool:
    """Whether this run's message holds anything but answers to the questions `late`."""
    own = (event.content for event in ctx.stash[MESSAGES] if event.content is not None)
    return any(answered_id(part) not in late for content in own for part in content.parts or ())


def _answered(ctx: InvocationContext) -> set[str | None]:
    """The ids of the calls that this run's message answers."""
    messages = ctx.stash.get(MESSAGES, None) or ()
    return {response.id for event in messages for response in event.get_function_responses()}


def is_own(ctx: InvocationContext, event: Event) -> bool:
    """Whether this run has stored the event, with its message."""
    return any(event.id == one.id for one in ctx.stash.get(MESSAGES, None) or ())


def may_act(ctx: InvocationContext, log: Log, first: Event, question: Question) -> bool:
    """Whether this run may act on the question, whose first answer is `first`.

    It may if it has stored that answer, if the run that stored it has ended, or if the caller resumes the
    invocation without an answer, as after a crash. Otherwise the question is left to the other run.
    """
    if is_acted_on(log, first, question):
        return False
    if is_own(ctx, first):
        return True
    work = _work_of(ctx, first)
    if work is None:
        return not _answered(ctx) or _is_alone(ctx)
    return work is not Work.RUNNING


def handed_over(ctx: InvocationContext) -> list[Event]:
    """The events of answers to this invocation that were stored for a later run, and that none has made its own."""
    events = full_invocation(ctx).get_events(current_invocation=True)
    taken = {
        id_ for event in events for id_ in (event.custom_metadata or {}).get(TAKEN_IN) or () if event.author != "user"
    }
    stored = [one for one in events if one.author == "user" and (one.custom_metadata or {}).get(HANDED_OVER)]
    return [event for event in stored if event.id not in taken]


def unused_answers(ctx: InvocationContext) -> list[str]:
    """The ids of the events of this run's answers that have let no call begin."""
    begun = ctx.stash.get(BEGUN, None) or set[str]()
    own = ctx.stash.get(MESSAGES, None) or ()
    return [event.id for event in own if begun.isdisjoint(one.id or "" for one in event.get_function_responses())]


def never_began(ctx: InvocationContext, log: Log, question: Question) -> bool:
    """Whether it is certain that no run has begun the call that the question is about.

    It is if every run that stored an answer to it noted that it failed before, and this run, which may fail without a
    note, has stored an answer, too: so a later run finds one without a note.
    """
    events = [log.events[position] for position in answers(log, question.id)]
    noted = {
        id_
        for event in log.events
        if event.author != "user" and event.custom_metadata
        for id_ in event.custom_metadata.get(NOT_BEGUN) or ()
    }
    own = [event for event in events if is_own(ctx, event)]
    return bool(own) and all(event in own or event.id in noted for event in events)


def left_to_others(ctx: InvocationContext, call_ids: Collection[str]) -> set[str]:
    """Of the requests for approval `call_ids`, those that another run has yet to act on."""
    log = Log(ctx.session.events)
    return {
        question.id
        for first, question in _answered_by_others(ctx, log, call_ids)
        if question.kind is Kind.APPROVAL
        and not is_acted_on(log, first, question)
        and not may_act(ctx, log, first, question)
    }


def _is_late(ctx: InvocationContext, log: Log, first: Event, question: Question) -> bool:
    """Whether a later answer must change nothing."""
    is_taken = _is_taken(ctx, log, first, question)
    return not _is_alone(ctx) if is_taken is None else is_taken


def _is_taken(ctx: InvocationContext, log: Log, first: Event, question: Question) -> bool | None:
    """Whether the run that stored the `first` answer has acted or is working; None: it may be, in another process."""
    if is_acted_on(log, first, question):
        return True
    if question.kind is Kind.INPUT and question.call_id is None and question.invocation_id != ctx.invocation_id:
        return True  # the invocation is over: otherwise it would go on
    work = _work_of(ctx, first)
    return None if work is None else work is not Work.FAILED


def _is_alone(ctx: InvocationContext) -> bool:
    """Whether this run holds the session's lease, so that no other run works on the session."""
    return ctx.session.lease > 0


def is_acted_on(log: Log, first: Event, question: Question) -> bool:
    """Whether, after the `first` answer, the asking call has a result, or a note says that it runs."""
    for event in _since(log, first):
        if event.author == "user" or is_provisional(event):
            continue
        ids = {response.id for response in event.get_function_responses()}
        if not ids.isdisjoint(filter(None, (question.call_id, question.scope))):
            return True
        if question.id in ((event.custom_metadata or {}).get(TAKEN_UP) or ()):
            return True
    return False


def _since(log: Log, first: Event) -> Iterator[Event]:
    for _, event in log.backwards():
        if event.id == first.id:
            return
        yield event


def _work_of(ctx: InvocationContext, answer: Event) -> Work | None:
    return ctx.session.stash[_WORK].get(answer.id)


def note_work(ctx: InvocationContext, work: Work) -> None:
    """Note how far this run is with the answers that it has stored."""
    for event in ctx.stash[MESSAGES]:
        ctx.session.stash[_WORK][event.id] = work


async def stored_log(ctx: InvocationContext) -> Log:
    """The session's log as it is stored, if this run's view of it may be behind."""
    session = ctx.session
    stored = await ctx.session_service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id
    )
    newer = stored is not None and len(stored.events) > len(session.events)
    return Log(stored.events if stored is not None and newer else session.events)


def refusal(ctx: InvocationContext, question: Question | None, call_id: str) -> Event:
    """The event that tells the user that an answer came too late."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=question.author if question is not None else ctx.agent.name,
        branch=question.branch if question is not None else ctx.branch,
        error_code="ANSWERED_BEFORE",
        error_message=(
            f"The request {call_id} was answered before. This answer changes nothing, and nothing runs again. "
            f"If the run that took the first answer was interrupted, resume that invocation by its id."
        ),
    )
