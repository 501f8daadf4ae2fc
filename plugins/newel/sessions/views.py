"""Views of a stored session: whether an event may be appended through one, and how one follows its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from newel.sessions.errors import UnfitNameError
from newel.sessions.event_log import EventLog
from newel_kernel import (
    AlreadyExistsError,
    Event,
    FencedError,
    Session,
    SessionNotFoundError,
    StaleSessionError,
    apply_to_state,
    brief,
    freeze_event,
    trim_temp,
)

#: The most bytes (in UTF-8) of a name or a state key. Three of them make a table's key, whose length servers limit.
LONGEST_NAME = 800


def check_append(session: Session, event: Event, *, log: EventLog, lease: int) -> None:
    """Raise if `session` is not a current view of the stored one, with the events `log` and the epoch `lease`."""
    version = len(log)
    if session.number not in (0, log.number):
        raise SessionNotFoundError(
            f"the session {brief(session.id)!r} of this view was deleted, and another session has its id now: "
            f"get that one; event {event.id} is not stored"
        )
    if session.lease and session.lease != lease:  # 0: it holds no lease that others could take
        raise FencedError(fenced(session.id, session.lease, lease))
    if session.version > version:
        raise StaleSessionError(
            f"the session {brief(session.id)!r} was deleted and created again since this copy of it was read "
            f"({session.version} events then, {version} now): get it again; event {event.id} is not stored"
        )


def check_after(session_id: str, stored: int, after: int | None, event: Event) -> None:
    """Raise StaleSessionError unless `after` is None, or how many events the session has, or will have by then."""
    if after is not None and stored != after:
        raise StaleSessionError(
            f"the event {event.id} was to be the next after {after} events of the session {brief(session_id)!r}, which "
            f"has {stored} by now; it is not stored: look at the new events first"
        )


def check_new(log: EventLog, event: Event, coming: Sequence[Event] = ()) -> None:
    """Raise AlreadyExistsError if the session has an event of that id: a repeated append must not store it twice.

    `coming` are events that will follow those in the log.
    """
    if log.knows(event.id) or (coming and any(one.id == event.id for one in coming)):
        raise stored_before(event)


def stored_before(event: Event) -> AlreadyExistsError:
    """The error for an event whose id the session already has."""
    return AlreadyExistsError(f"the session already has an event with the id {event.id!r}; nothing was written")


def check_delta(event: Event) -> None:
    """Raise SessionError if a key of the event's state delta has no scope."""
    actions = event.touched_actions
    if actions is not None and actions.state_delta:
        check_keys(actions.state_delta, f"event {event.id} of {event.author!r}")


def check_keys(delta: Mapping[str, object], subject: str) -> None:
    """Raise SessionError if a key of a state delta is not a string (it has no scope), or too long."""
    for key in delta:
        if not isinstance(key, str):
            raise UnfitNameError(
                f"{subject} cannot be stored: the state key {key!r} is {type(key).__name__}, not str; "
                f"nothing was written"
            )
        if len(key) > LONGEST_NAME // 4:
            _check_length(key, f"{subject} cannot be stored: the state key")


def check_names(app_name: str, user_id: str, session_id: str) -> None:
    """Raise SessionError if one of a session's names is longer than every store can hold."""
    if len(app_name) + len(user_id) + len(session_id) <= LONGEST_NAME // 4:  # a character has at most four bytes
        return
    for what, name in (("app name", app_name), ("user id", user_id), ("session id", session_id)):
        _check_length(name, f"the session cannot be created: the {what}")


def _check_length(name: str, subject: str) -> None:
    if (length := len(name.encode(errors="replace"))) > LONGEST_NAME:
        raise UnfitNameError(
            f"{subject} {name[:40]!r}… has {length:,} bytes, more than {LONGEST_NAME}: shorten it; nothing was written"
        )


def fenced(session_id: str, lease: int, current: int) -> str:
    """The message of a FencedError."""
    return (
        f"another worker took over the session {brief(session_id)!r} (lease {current}, this view holds {lease}): "
        f"stop, and open the session again if the work is still yours"
    )


def stale(session_id: str, stored: int, version: int, event: Event) -> str:
    """The message of a StaleSessionError: the session has `stored` events, the view `version` of them."""
    return (
        f"another process appended to the session {brief(session_id)!r} (it has {stored} events, {version} were known "
        f"here); event {event.id} is not stored. The session object has been brought up to date: look at the new "
        f"events, then append again"
    )


def catch_up(session: Session, log: EventLog, version: int | None = None) -> None:
    """Bring a view to `version` of the log (its end if None): events, state and version.

    A copy's list may hold events that the version does not count (a session that was read from JSON); they
    are not added twice.
    """
    version = len(log) if version is None else version
    if session.version >= version:
        return
    tail = log[session.version : version]
    for event in tail:
        apply_to_state(session.state, event)
    if session.events is not log:
        ids = {event.id for event in session.events}
        _own(session).extend(event for event in tail if event.id not in ids)
    session.version = version
    session.last_update_time = log[version - 1].timestamp


def apply_commit(session: Session, log: EventLog, sequence: int, event: Event, stored: Event | None = None) -> None:
    """Apply `event`, which the store committed with the number `sequence`, to the view it was appended through.

    `stored` is the event as it was read back: the state is what a restart would show.
    """
    actions = event.touched_actions
    if session.version <= sequence:
        if session.version < sequence:
            catch_up(session, log, sequence)
        if actions is not None:
            apply_to_state(session.state, event)
            if stored is not None:
                apply_to_state(session.state, stored)
        if session.events is not log:
            _own(session).append(event)
        session.version = sequence + 1
        session.last_update_time = event.timestamp
    # Else a later append through the same view was applied first and brought this event along.
    if actions is not None:
        trim_temp(event)
    freeze_event(event)


def _own(session: Session) -> list[Event]:
    """The events of a copy, as a list; what was a live view of another log becomes a copy."""
    if isinstance(session.events, EventLog):
        session.events = list(session.events)
    return session.events
