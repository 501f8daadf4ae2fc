"""Compaction window: which events of a session a summary is to cover. Calls that wait for an answer are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
    events = _common(events)
    latest = latest_compaction(events)
    spoken_events = [event for event in events if compaction_of(event) is None]
    ended: dict[str, float] = {}
    for event in spoken_events:
        if event.invocation_id:
            ended[event.invocation_id] = max(ended.get(event.invocation_id, 0.0), event.timestamp)
    invocations = list(ended)
    fresh = [name for name in invocations if latest is None or ended[name] > latest[1].end_timestamp]
    if len(fresh) < config.compaction_interval:
        return []
    start = invocations[max(0, invocations.index(fresh[0]) - config.overlap_size)]
    first = next(i for i, event in enumerate(spoken_events) if event.invocation_id == start)
    last = max(i for i, event in enumerate(spoken_events) if event.invocation_id == fresh[-1])
    return _settled(spoken_events[first : last + 1])


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
    events = _common(events)
    latest = latest_compaction(events)
    spoken_events = [event for event in events if compaction_of(event) is None]
    if latest is not None:
        spoken_events = [event for event in spoken_events if event.timestamp > latest[1].end_timestamp]
    selection = _settled(spoken_events[: max(0, len(spoken_events) - keep)])
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


def _settled(events: list[Event]) -> list[Event]:
    """The leading events up to the first call whose result is not among them: the two must not be separated."""
    waiting: set[str | None] = set()
    settled = 0
    for count, event in enumerate(events, 1):
        waiting.update(call.id for call in event.get_function_calls())
        waiting.difference_update(response.id for response in event.get_function_responses())
        if not waiting:
            settled = count
    return events[:settled]


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
