"""Summaries: compacted ranges as the model sees them: the summary, then the calls that it left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from newel.flows.exchanges import exchanges, with_responses_to, without_responses_to
from newel.flows.retained import retained_by, taken_in_by
from newel.flows.visibility import on_branch
from newel_kernel import Event, EventCompaction
from newel_types import thaw


class _Summary(NamedTuple):
    #: Its position in the log, and that of the last event of its range.
    position: int
    last: int
    compaction: EventCompaction
    event: Event

    def covers(self, position: int, event: Event) -> bool:
        """Whether an event that stands before the summary lies between its timestamps, or was taken in late.

        A summary of a branch covers what is seen there.
        """
        own = self.compaction
        if not on_branch(event.branch, self.event.branch):
            return False
        within = position < self.position and own.start_timestamp <= event.timestamp <= own.end_timestamp
        return within or self.took_in_late(event)

    def took_in_late(self, event: Event) -> bool:
        """Whether it stands for an event from before its range."""
        return event.id in taken_in_by(self.event)

    def takes_in(self, position: int, event: Event) -> bool:
        """Whether it stands for an event that it covers."""
        return self.covers(position, event) and event.id not in retained_by(self.event)


def compacted(
    visible: Sequence[Event], standing: Sequence[Event] | None = None, branch: str | None = None
) -> list[Event]:
    """The events that are visible on a branch, with each compacted range replaced by its summary, where the range ends.

    A range holds the earlier events that lie between its timestamps; a summary that a later one takes in is dropped.
    A call whose result is due, or came after the range, stays with its responses, behind the summary; so does what
    the summary retains. `standing` are the visible events and those that tell which calls are due.
    """
    summaries = _summaries(visible, branch)
    covering = [_covering(summaries, position, event) for position, event in enumerate(visible)]
    retained = {
        position
        for position, event in enumerate(visible)
        if covering[position] is not None and _is_retained(summaries, position, event)
    }
    kept = _kept(visible, visible if standing is None else standing, covering, retained)
    behind: dict[int, list[Event]] = {}
    for summary in summaries:
        behind.setdefault(summary.last, []).append(_content_of(summary))
    for position, event in kept.items():
        behind.setdefault(_place(summaries, position, event), []).append(event)
    whole = behind.get(-1, [])
    for position, event in enumerate(visible):
        if covering[position] is None and not is_summary(event):
            whole.append(event)
        whole.extend(behind.get(position, ()))
    return whole


def _covering(summaries: Sequence[_Summary], position: int, event: Event) -> _Summary | None:
    """The summary that stands for an event, else the last one that retains it."""
    covering = None
    for one in summaries:
        if one.takes_in(position, event):
            return one
        if one.covers(position, event):
            covering = one
    return covering


def _is_retained(summaries: Sequence[_Summary], position: int, event: Event) -> bool:
    """Whether the last summary that knows the event retains it: one before may have left it alone as a call in wait."""
    retained = False
    for one in summaries:
        if event.id in retained_by(one.event):
            retained = True
        elif one.covers(position, event):
            retained = False
    return retained


def _place(summaries: Sequence[_Summary], position: int, event: Event) -> int:
    """What stays of an event stands behind the summary in whose range it lies, else in its place."""
    within = (one for one in summaries if one.covers(position, event) and not one.took_in_late(event))
    return next((one.last for one in within), position)


def _kept(
    visible: Sequence[Event], standing: Sequence[Event], covering: Sequence[_Summary | None], retained: Collection[int]
) -> dict[int, Event]:
    """What stays of the covered events, by position.

    Exchanges that are due, that are retained, or that the ranges do not hold whole, and retained messages.
    """
    seen = {id(event): position for position, event in enumerate(visible)}
    calls: set[int] = set()
    ids: dict[int, set[str | None]] = {}
    for exchange in exchanges(standing):
        called = seen.get(id(standing[exchange.position]))
        if called is None:
            continue
        responses = [(seen[id(standing[at])], id_) for at, id_ in exchange.responses if id(standing[at]) in seen]
        whole = all(covering[at] is not None for at in (called, *(at for at, _ in responses)))
        if not exchange.due and whole and called not in retained:
            continue
        calls.add(called)
        for at, id_ in responses:
            ids.setdefault(at, set()).add(id_)
    kept: dict[int, Event | None] = {}
    for position, event in enumerate(visible):
        if covering[position] is None:
            continue
        if position in calls:
            kept[position] = event
        elif position in retained:
            others = {one.id for one in event.get_function_responses()} - ids.get(position, set())
            kept[position] = without_responses_to(event, others)
        elif position in ids:
            kept[position] = with_responses_to(event, ids[position])
    return {position: event for position, event in kept.items() if event is not None}


def _content_of(summary: _Summary) -> Event:
    compaction, event = summary.compaction, summary.event
    return Event(
        author="model",
        content=thaw(compaction.compacted_content),
        branch=event.branch,
        invocation_id=event.invocation_id,
        timestamp=compaction.end_timestamp,
        actions=event.touched_actions,  # None: made when touched
    )


def _summaries(events: Sequence[Event], branch: str | None) -> list[_Summary]:
    """The compactions that no other takes in, in order; an earlier one takes in none if it left something over.

    One of another branch takes in none: it does not tell all that is seen here.
    """
    compactions = [
        (index, actions.compaction, event)
        for index, event in enumerate(events)
        if (actions := event.touched_actions) is not None and actions.compaction is not None
    ]
    return [
        _Summary(index, _last(events, index, own), own, event)
        for index, own, event in compactions
        if not any(
            by.branch in (None, branch)
            and other.start_timestamp <= own.start_timestamp
            and own.end_timestamp <= other.end_timestamp
            and set(taken_in_by(event)) <= set(taken_in_by(by))
            for later, other, by in compactions
            if later > index or (later < index and _range(other) != _range(own) and not retained_by(by))
        )
    ]


def _last(events: Sequence[Event], index: int, compaction: EventCompaction) -> int:
    return max((i for i in range(index) if events[i].timestamp <= compaction.end_timestamp), default=-1)


def _range(compaction: EventCompaction) -> tuple[float, float]:
    return compaction.start_timestamp, compaction.end_timestamp


def is_summary(event: Event) -> bool:
    """Whether an event says that a summary stands in place of others."""
    actions = event.touched_actions
    return actions is not None and actions.compaction is not None
