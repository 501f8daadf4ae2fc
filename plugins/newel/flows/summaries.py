"""Summaries: compacted ranges as the model sees them: the summary, then the calls that it left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from newel.flows.exchanges import exchanges, with_responses_to
from newel_kernel import Event, EventCompaction
from newel_types import thaw


class _Summary(NamedTuple):
    #: Its position in the log, and that of the last event of its range.
    position: int
    last: int
    compaction: EventCompaction
    event: Event

    def covers(self, position: int, event: Event) -> bool:
        """Whether an event that stands before the summary lies between its timestamps."""
        own = self.compaction
        return position < self.position and own.start_timestamp <= event.timestamp <= own.end_timestamp


def compacted(visible: Sequence[Event], standing: Sequence[Event] | None = None) -> list[Event]:
    """The visible events with each compacted range replaced by its summary, where the range ends.

    A range holds the earlier events that lie between its timestamps; a summary that a later one takes in is dropped.
    A call whose result is due, or came after the range, stays with its responses, behind the summary. `standing` are
    the visible events and those that tell which calls are due.
    """
    summaries = _summaries(visible)
    covering = [
        next((one for one in summaries if one.covers(position, event)), None) for position, event in enumerate(visible)
    ]
    kept = _kept(visible, visible if standing is None else standing, covering)
    behind: dict[int, list[Event]] = {}
    for summary in summaries:
        behind.setdefault(summary.last, []).append(_content_of(summary))
    for position, event in kept.items():
        if (covered_by := covering[position]) is not None:
            behind[covered_by.last].append(event)
    whole = behind.get(-1, [])
    for position, event in enumerate(visible):
        if covering[position] is None and not _is_summary(event):
            whole.append(event)
        whole.extend(behind.get(position, ()))
    return whole


def _kept(visible: Sequence[Event], standing: Sequence[Event], covering: Sequence[_Summary | None]) -> dict[int, Event]:
    """What stays of the covered events, by position: exchanges that are due or that the ranges do not hold whole."""
    seen = {id(event): position for position, event in enumerate(visible)}
    calls: set[int] = set()
    ids: dict[int, set[str | None]] = {}
    for exchange in exchanges(standing):
        called = seen.get(id(standing[exchange.position]))
        if called is None:
            continue
        responses = [(seen[id(standing[at])], id_) for at, id_ in exchange.responses if id(standing[at]) in seen]
        if not exchange.due and all(covering[at] is not None for at in (called, *(at for at, _ in responses))):
            continue
        calls.add(called)
        for at, id_ in responses:
            ids.setdefault(at, set()).add(id_)
    return {
        position: event if position in calls else with_responses_to(event, ids[position])
        for position, event in enumerate(visible)
        if covering[position] is not None and (position in calls or position in ids)
    }


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


def _summaries(events: Sequence[Event]) -> list[_Summary]:
    """The compactions that no other takes in, in order."""
    compactions = [
        (index, actions.compaction, event)
        for index, event in enumerate(events)
        if (actions := event.touched_actions) is not None and actions.compaction is not None
    ]
    return [
        _Summary(index, _last(events, index, own), own, event)
        for index, own, event in compactions
        if not any(
            other.start_timestamp <= own.start_timestamp and own.end_timestamp <= other.end_timestamp
            for later, other, _ in compactions
            if later > index or (later < index and _range(other) != _range(own))
        )
    ]


def _last(events: Sequence[Event], index: int, compaction: EventCompaction) -> int:
    return max((i for i in range(index) if events[i].timestamp <= compaction.end_timestamp), default=-1)


def _range(compaction: EventCompaction) -> tuple[float, float]:
    return compaction.start_timestamp, compaction.end_timestamp


def _is_summary(event: Event) -> bool:
    actions = event.touched_actions
    return actions is not None and actions.compaction is not None
