"""Exchanges: calls with the responses to them, which a summary takes in whole or not at all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from newel.questions.interim_results import is_interim
from newel.questions.provisional_results import is_provisional
from newel.questions.question import Kind, questions_of
from newel_kernel import Event
from newel_types import Content


@dataclass(slots=True)
class Exchange:
    """The calls of one event, and what came for them. Positions are those of the events that were read."""

    position: int
    #: The calls whose final response has not come.
    due: set[str | None]
    #: The position of each response with the id of its call, in order.
    responses: list[tuple[int, str | None]] = field(default_factory=list)

    @property
    def positions(self) -> list[int]:
        """Those of the calls and the responses, in order."""
        return list(dict.fromkeys([self.position, *(position for position, _ in self.responses)]))


def exchanges(events: Sequence[Event]) -> list[Exchange]:
    """The exchanges in `events`, in the order of the calls.

    A call is due until its result came. That of a long-running tool is the user's response that does not say that the
    work goes on; that of a call that waits for the user's approval or credential is the response after the answer.
    """
    found: list[Exchange] = []
    latest: dict[str | None, Exchange] = {}
    asked = _Asked()
    for position, event in enumerate(events):
        if calls := event.get_function_calls():
            exchange = Exchange(position, {call.id for call in calls})
            found.append(exchange)
            latest.update(dict.fromkeys(exchange.due, exchange))
        asked.note(event)
        for response in event.get_function_responses():
            if (answered := latest.get(response.id)) is None:
                continue
            answered.responses.append((position, response.id))
            provisional = is_provisional(event)
            goes_on = response.id in asked.long_running and (event.author != "user" or is_interim(response))
            if not (provisional or goes_on or response.id in asked.waiting.values()):
                answered.due.discard(response.id)
    return found


@dataclass(slots=True)
class _Asked:
    """What the user was asked so far."""

    #: The calls of long-running tools.
    long_running: set[str | None] = field(default_factory=set)
    #: The ids of open questions, each with that of the tool call on whose behalf it is asked.
    waiting: dict[str | None, str | None] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        if event.author == "user":
            for response in event.get_function_responses():
                self.waiting.pop(response.id, None)
            return
        for call in event.get_function_calls():
            self.long_running.discard(call.id)  # a model may use an id again
        for question in questions_of(event):
            if question.kind is Kind.RESULT:
                self.long_running.add(question.id)
            elif question.call_id is not None:
                self.waiting[question.id] = question.call_id


def with_responses_to(event: Event, ids: Collection[str | None]) -> Event:
    """The event, of the responses in it only those to these calls, and nothing else; `event` if it has nothing else."""
    parts = event.content.parts or () if event.content is not None else ()
    kept = [p for p in parts if p.function_response is not None and p.function_response.id in ids]
    if event.content is None or len(kept) == len(parts):
        return event
    return event.model_copy(update={"content": Content(role=event.content.role, parts=kept)})


def without_responses_to(event: Event, ids: Collection[str | None]) -> Event | None:
    """The event without the responses to these calls; None if nothing is left of it."""
    parts = event.content.parts or () if event.content is not None else ()
    kept = [p for p in parts if p.function_response is None or p.function_response.id not in ids]
    if event.content is None or len(kept) == len(parts):
        return event
    return event.model_copy(update={"content": Content(role=event.content.role, parts=kept)}) if kept else None
