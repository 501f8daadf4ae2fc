"""Compaction window: which events of a session a summary is to cover. Calls that wait for an answer are left out.

So is what a turn under way still needs, if that is asked for (newel.flows.retained).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from newel.flows.exchanges import Exchange, exchanges, with_responses_to, without_responses_to
from newel.flows.history import assemble
from newel.flows.retained import NOTHING, Retained, newest_message, retained_by, taken_in_by, under_way
from newel.flows.visibility import on_branch
from newel.models.token_estimates import words_of
from newel_kernel import Event, EventCompaction, Log

if TYPE_CHECKING:
    from newel.apps.configs import EventsCompactionConfig

_CHARACTERS_PER_TOKEN = 4


def compaction_of(event: Event) -> EventCompaction | None:
    """The compaction that an event carries."""
    actions = event.touched_actions
    return actions.compaction if actions is not None else None


def latest_compaction(events: Sequence[Event], branch: str | None = None) -> tuple[Event, EventCompaction] | None:
    """The last compaction of all events, or of this branch, with its event."""
    for event in reversed(events):
        if event.branch in (None, branch) and (compaction := compaction_of(event)) is not None:
            return event, compaction
    return None


class Covered(NamedTuple):
    """What a summary is made of."""

    events: Sequence[Event] = ()
    #: The ids of the events in its range that it leaves alone, and of those beyond its range that it stands for.
    retained: Sequence[str] = ()
    taken: Sequence[str] = ()


def window(events: Sequence[Event], config: EventsCompactionConfig, *, keep_turn: bool = False) -> Covered:
    """The events of the invocations since the last summary, once there are enough, and of the overlap before them.

    With `keep_turn` the newest message stays if a call is due, so that the next turn may begin with its result.
    """
    if config.compaction_interval is None or config.overlap_size is None:
        return Covered()
    spoken = _Spoken(_common(events))
    ended: dict[str, float] = {}
    for event in spoken.settled.values():
        if event.invocation_id:
            ended[event.invocation_id] = max(ended.get(event.invocation_id, 0.0), event.timestamp)
    invocations = list(ended)
    latest = spoken.latest
    fresh = [name for name in invocations if latest is None or ended[name] > latest[1].end_timestamp]
    if len(fresh) < config.compaction_interval:
        return Covered()
    start = invocations[max(0, invocations.index(fresh[0]) - config.overlap_size)]
    first = next(i for i, event in spoken.settled.items() if event.invocation_id == start)
    last = max(i for i, event in spoken.settled.items() if event.invocation_id == fresh[-1])
    return spoken.covered(range(first, last + 1), spoken.to_retain("") if keep_turn else NOTHING)


def surplus(
    events: Sequence[Event],
    config: EventsCompactionConfig,
    agent_name: str,
    branch: str | None,
    invocation_id: str | None = None,
) -> Covered:
    """The events older than those to keep, if the last prompt reached the threshold; see `older`."""
    if config.token_threshold is None or config.event_retention_size is None:
        return Covered()
    tokens = _prompt_tokens(events, agent_name, branch)
    if tokens is None or tokens < config.token_threshold:
        return Covered()
    return older(events, config.event_retention_size, invocation_id)


def older(events: Sequence[Event], keep: int, invocation_id: str | None = None, branch: str | None = None) -> Covered:
    """The events that no summary covers, except the last `keep`; the last summary comes first, to be replaced.

    What the turn of `invocation_id` needs stays; "": the turn is over, and None: nothing stays. With a branch it is
    about the events that are seen there: what agents do at the same time on other branches is for their own summaries.
    """
    spoken = _Spoken([event for event in _common(events) if on_branch(event.branch, branch)], branch)
    latest = spoken.latest
    fresh = [
        position
        for position, event in enumerate(spoken.events)
        if latest is None or event.timestamp > latest[1].end_timestamp
    ]
    to_retain = NOTHING if invocation_id is None else spoken.to_retain(invocation_id)
    begins = latest[1].start_timestamp if latest is not None else None
    covered = spoken.covered(fresh[: max(0, len(fresh) - keep)], to_retain, begins)
    if not covered.events or latest is None:
        return covered
    summary, compaction = latest
    seed = Event(
        author="model",
        content=compaction.compacted_content,
        timestamp=compaction.start_timestamp,
        branch=summary.branch,
        invocation_id=summary.invocation_id,
    )
    return covered._replace(events=[seed, *covered.events], taken=[*taken_in_by(summary), *covered.taken])


def _common(events: Sequence[Event]) -> list[Event]:
    """The events that count, without those of isolation scopes, which nothing outside the scope sees."""
    return [event for event in Log(events).standing() if event.isolation_scope is None]


class _Spoken:
    """The events that summaries are made of."""

    def __init__(self, events: Sequence[Event], branch: str | None = None) -> None:
        #: The last summary, with its event.
        self.latest = latest_compaction(events, branch)
        self.events = [event for event in events if compaction_of(event) is None]
        self._exchanges = exchanges(self.events)
        #: The ids of what the last summary left as it was, and with their exchanges, the positions.
        self._named = retained_by(self.latest[0]) if self.latest is not None else ()
        self.retained = self._retained(*self.latest) if self.latest is not None else set()
        #: By position, what is left without the calls that are due.
        self.settled = self._without([one for one in self._exchanges if one.due])

    def _retained(self, summary: Event, compaction: EventCompaction) -> set[int]:
        ids = retained_by(summary)
        positions = {position for position, event in enumerate(self.events) if event.id in ids}
        whole = positions.union(*(one.positions for one in self._exchanges if one.position in positions))
        return {position for position in whole if self.events[position].timestamp <= compaction.end_timestamp}

    def to_retain(self, invocation_id: str) -> Retained:
        """What is to stay in the turn of this invocation; "": the turn is over, and only a late result needs more."""
        if invocation_id:
            return under_way(self.events, self._exchanges, invocation_id)
        is_due = any(one.due for one in self._exchanges)
        return newest_message(self.events, len(self.events)) if is_due else NOTHING

    def _without(self, some: Sequence[Exchange]) -> dict[int, Event]:
        calls = {exchange.position for exchange in some}
        ids: dict[int, set[str | None]] = {}
        for exchange in some:
            for position, id_ in exchange.responses:
                ids.setdefault(position, set()).add(id_)
        rest = {
            position: without_responses_to(event, ids.get(position, ()))
            for position, event in enumerate(self.events)
            if position not in calls
        }
        return {position: event for position, event in rest.items() if event is not None}

    def covered(self, chosen: Sequence[int], stays: Retained, begins: float | None = None) -> Covered:
        """The chosen events, without what stays, and calls whose last response is due or not among them.

        What the last summary retained stands before them, and what earlier summaries left out of an exchange before
        the first of its events that are among them. The range is to begin with the first chosen event, or `begins`.
        """
        everything = self.retained.union(chosen)
        rest = self._settled_among(everything, stays)
        start = next((self.events[position].timestamp for position in chosen if position in rest), None)
        if start is None:
            return Covered()
        before, within = self._left_out_before(everything), set(chosen)
        whole: list[Event] = []
        earlier: list[Event] = []
        for position in sorted(everything & rest.keys()):
            timestamp = max(start, self.events[position].timestamp)
            early = [self.events[one] for one in before.get(position, ())]
            if position not in within:
                early.append(rest[position])
            whole += (event.model_copy(update={"timestamp": timestamp}) for event in early)
            if position in within:
                whole.append(rest[position])
            earlier += early
        # A call that was due at the last summary is in its range and in neither set.
        calls = {
            one.position
            for one in self._exchanges
            if one.position in stays.calls and not everything.isdisjoint(one.positions)
        }
        # Of what is there only as a part of an exchange, an earlier summary has told the words.
        own = {*within, *(position for position in self.retained if self.events[position].id in self._named)}
        staying = sorted((own & stays.messages) | calls)
        taken = [event.id for event in earlier if event.timestamp < (start if begins is None else begins)]
        return Covered(whole, [self.events[position].id for position in staying], taken)

    def _settled_among(self, everything: Collection[int], stays: Retained) -> dict[int, Event]:
        """By position, what is left without what stays and the exchanges that are not whole and finished."""
        apart = [
            one
            for one in self._exchanges
            if one.due or one.position in stays.calls or one.positions[-1] not in everything
        ]
        rest = self._without(apart)
        for position in stays.messages & rest.keys():
            event = rest.pop(position)
            if ids := [response.id for response in event.get_function_responses()]:
                rest[position] = with_responses_to(event, ids)
        return rest

    def _left_out_before(self, everything: Collection[int]) -> dict[int, list[int]]:
        """What is missing of finished exchanges, by the first position of each."""
        before: dict[int, list[int]] = {}
        for one in self._exchanges:
            if not one.due and one.positions[-1] in everything and one.position not in everything:
                first = next(position for position in one.positions if position in everything)
                before.setdefault(first, []).extend(p for p in one.positions if p not in everything)
        return before


def _prompt_tokens(events: Sequence[Event], agent_name: str, branch: str | None) -> int | None:
    """The tokens of the last prompt since the last summary, as the model counted them; else an estimate."""
    for event in reversed(events):
        if compaction_of(event) is not None:
            break
        if event.usage_metadata is not None and event.usage_metadata.prompt_token_count is not None:
            return event.usage_metadata.prompt_token_count
    contents = [event.content for event in assemble(events, agent_name, branch) if event.content is not None]
    characters = sum(len(words_of(part) or "") for content in contents for part in content.parts or ())
    return characters // _CHARACTERS_PER_TOKEN or None
