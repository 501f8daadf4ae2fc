"""The events and the state that a fork takes from its session, for every store."""

from __future__ import annotations

from collections.abc import Sequence

from newel.sessions.call_pairs import CallPairs
from newel_kernel import Event, Json, Session, SessionError, apply_delta
from newel_types import deep_copy

_SHARED = ("app:", "user:", "temp:")


def fork_length(source: Session, events: int | None) -> int:
    """How many events a fork has."""
    if events is not None and events < 0:
        raise SessionError(f"a fork cannot have {events} events: give a number from 0 up, or none for all")
    return source.version if events is None else min(events, source.version)  # its state knows no later ones


def around(events: Sequence[Event], count: int) -> tuple[int, int] | None:
    """The nearest possible counts below and above, if the first `count` events have a call whose result comes later.

    None: they have no such call. A call that waits for the user, or never got a result, does not count.
    """
    if not count:
        return None
    whole = CallPairs()
    for event in events:
        whole.see(event)
    whole.end()
    never = set().union(*whole.unanswered.values())
    below, pairs = 0, CallPairs()
    for number, event in enumerate(events, 1):
        pairs.see(event)
        if pairs.waiting <= never:
            if number >= count:
                return None if number == count else (below, number)
            below = number
    return None


def state_at(source: Session, count: int) -> Json:
    """The session's own state after its first `count` events."""
    state: Json = deep_copy({key: value for key, value in source.state.items() if not key.startswith(_SHARED)})
    apply_delta(state, undoing(state, source.events[:count], source.events[count:]))
    return state


def undoing(state: Json, before: Sequence[Event], after: Sequence[Event]) -> Json:
    """The delta that undoes the writes of `after`. Other keys keep their values: they may be from the creation."""
    then, since = _writes(before), _writes(after)
    undo = {key: then.get(key) for key in since if not key.startswith(_SHARED)}
    return deep_copy({key: value for key, value in undo.items() if state.get(key) != value})  # type: ignore[no-any-return]


def _writes(events: Sequence[Event]) -> Json:
    writes: Json = {}
    for event in events:
        if event.touched_actions is not None:
            writes.update(event.touched_actions.state_delta)
    return writes
