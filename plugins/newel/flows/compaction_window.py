"""Compaction window: which events of a session a summary is to cover. Calls that wait for an answer are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from newel.flows.exchanges import Exchange, exchanges, without_responses_to
from newel.flows.history import assemble
from newel_kernel import Event, EventCompaction, Log

if TYPE_CHECKING:
    from newel.apps.configs import EventsCompactionConfig

_CHARACTERS_PER_TOKEN = 4


def compaction_of(event: Event) -> EventCompaction | None:
    """The compaction that an event carries."""
    actions = event.touched_actions
    return actions.compaction if actions is not None else None


def latest_compaction(events: Sequence[Event]) -> tuple[Event, EventCompaction] | None:
    """The last compaction, with its event."""
    for event in reversed(events):
        if (compaction := compaction_of(event)) is not None:
            return event, compaction
    return None


def window(events: Sequence[Event], config: EventsCompactionConfig) -> list[Event]:
    """The events of the invocations since the last summary, once there are enough, and of the overlap before them."""
    if config.compaction_interval is None or config.overlap_size is None:
        return []
    spoken = _Spoken(_common(events))
    ended: dict[str, float] = {}
    for event in spoken.settled.values():
        if event.invocation_id:
            ended[event.invocation_id] = max(ended.get(event.invocation_id, 0.0), event.timestamp)
    invocations = list(ended)
    latest = spoken.latest
    fresh = [name for name in invocations if latest is None or ended[name] > latest[1].end_timestamp]
    if len(fresh) < config.compaction_interval:
        return []
    start = invocations[max(0, invocations.index(fresh[0]) - config.overlap_size)]
    first = next(i for i, event in spoken.settled.items() if event.invocation_id == start)
    last = max(i for i, event in spoken.settled.items() if event.invocation_id == fresh[-1])
    return spoken.whole(range(first, last + 1))


def surplus(
    events: Sequence[Event], config: EventsCompactionConfig, agent_name: str, branch: str | None
) -> list[Event]:
    """The events older than those to keep, if the last prompt reached the threshold.

    The last summary comes first, so that the next one can replace it.
    """
    if config.token_threshold is None or config.event_retention_size is None:
        return []
    tokens = _prompt_tokens(events, agent_name, branch)
    if tokens is None or tokens < config.token_threshold:
        return []
    return older(events, config.event_retention_size)


def older(events: Sequence[Event], keep: int) -> list[Event]:
    """The events that no summary covers, except the last `keep`; the last summary comes first."""
    spoken = _Spoken(_common(events))
    latest = spoken.latest
    fresh = [
        position
        for position, event in enumerate(spoken.events)
        if latest is None or event.timestamp > latest[1].end_timestamp
    ]
    selection = spoken.whole(fresh[: max(0, len(fresh) - keep)])
    if not selection or latest is None:
        return selection
    summary, compaction = latest
    seed = Event(
        author="model",
        content=compaction.compacted_content,
        timestamp=compaction.start_timestamp,
        branch=summary.branch,
        invocation_id=summary.invocation_id,
    )
    return [seed, *selection]


def _common(events: Sequence[Event]) -> list[Event]:
    """The events that count, without those of isolation scopes, which nothing outside the scope sees."""
    return [event for event in Log(events).standing() if event.isolation_scope is None]


class _Spoken:
    """The events that summaries are made of."""

    def __init__(self, events: Sequence[Event]) -> None:
        #: The last summary, with its event.
        self.latest = latest_compaction(events)
        self.events = [event for event in events if compaction_of(event) is None]
        self._exchanges = exchanges(self.events)
        #: By position, what is left without the calls that are due.
        self.settled = self._without([one for one in self._exchanges if one.due])

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

    def whole(self, chosen: Sequence[int]) -> list[Event]:
        """The chosen events, without calls whose last response is due or not among them.

        What earlier summaries left out of an exchange stands before the first of its events that are among them.
        """
        apart = [one for one in self._exchanges if one.due or one.positions[-1] not in chosen]
        rest = self._without(apart)
        earlier: dict[int, list[Event]] = {}
        for exchange in self._exchanges:
            if not exchange.due and exchange.positions[-1] in chosen and exchange.position not in chosen:
                self._put_before(earlier, exchange, chosen)
        whole: list[Event] = []
        for position in chosen:
            if position in rest:
                whole += earlier.get(position, ())
                whole.append(rest[position])
        return whole

    def _put_before(self, earlier: dict[int, list[Event]], exchange: Exchange, chosen: Sequence[int]) -> None:
        first = next(position for position in exchange.positions if position in chosen)
        timestamp = self.events[first].timestamp  # a summary's range begins with its first event
        earlier.setdefault(first, []).extend(
            self.events[position].model_copy(update={"timestamp": timestamp})
            for position in exchange.positions
            if position not in chosen
        )


def _prompt_tokens(events: Sequence[Event], agent_name: str, branch: str | None) -> int | None:
    """The tokens of the last prompt since the last summary, as the model counted them; else an estimate."""
    for event in reversed(events):
        if compaction_of(event) is not None:
            break
        if event.usage_metadata is not None and event.usage_metadata.prompt_token_count is not None:
            return event.usage_metadata.prompt_token_count
    contents = [event.content for event in assemble(events, agent_name, branch) if event.content is not None]
    characters = sum(len(part.text) for content in contents for part in content.parts or () if part.text)
    return characters // _CHARACTERS_PER_TOKEN or None
