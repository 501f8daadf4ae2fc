"""EventLog: a session's committed events in memory, which every live view of the session shares."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from newel_kernel import apply_to_state, trim_temp
from newel_kernel import FencedError, SessionError, StaleSessionError
from newel_kernel import Event, freeze_event
from newel_kernel import Session
from newel_types import FrozenError

#: App name, user id and session id.
Key: TypeAlias = tuple[str, str, str]

# Held for operations on containers only, never across I/O; so one for the process is enough. Reentrant, because
# the collector may run in between.
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):  # a thread that the child does not have may hold it
    os.register_at_fork(after_in_child=_renew_lock)


class EventLog(list[Event]):
    """The events of one session in append order; only a store makes it longer, with `grow`.

    `number` is the store's own number of this session: a session that was deleted and created anew
    under the same id has another one. `cache` is what views share (see Session.cache).
    """

    __slots__ = ("__weakref__", "cache", "number")

    def __init__(self, events: Sequence[Event] = (), number: int = 0) -> None:
        super().__init__(events)
        self.number = number
        self.cache: dict[Any, Any] = {}

    def grow(self, first: int, events: Sequence[Event]) -> None:
        """Take `events`, the first of which has the sequence number `first`; those already here are left out.

        A reader that loads a tail and the writer that committed it may both bring it.
        """
        with _lock:
            list.extend(self, events[len(self) - first :] if first <= len(self) else ())

    #: Takes the one event that comes next.
    take = list.append

    def __delitem__(self, index: Any) -> None:
        """Cut events off the end, as a store does that takes back what it had; nothing else can be deleted."""
        if not isinstance(index, slice) or index.step is not None or index.indices(len(self))[1] < len(self):
            self._refuse()
        list.__delitem__(self, index)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise FrozenError(
            "the events of a live session cannot be changed: add with session_service.append_event(session, event), "
            "or work on a copy: list(session.events)"
        )

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __setitem__ = __iadd__ = __imul__ = _refuse

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return list, (list(self),)  # a copy is an ordinary list


class LiveLogs:
    """The logs that anybody uses, one per session, and of the others the `most` that were used last."""

    def __init__(self, most: int) -> None:
        self._most = max(most, 1)
        self._used: weakref.WeakValueDictionary[Key, EventLog] = weakref.WeakValueDictionary()
        self._kept: OrderedDict[Key, EventLog] = OrderedDict()

    def get(self, key: Key) -> EventLog | None:
        """The log of a session, or None."""
        return self._used.get(key)

    def keep(self, key: Key, log: EventLog) -> EventLog:
        """The one log of the session (`log`, where there was none), as the one used last."""
        with _lock:
            known = self._used.get(key)
            if known is not None and known is not log and known.number >= log.number:
                if known.number == log.number:
                    known.grow(0, log)  # two readers loaded it at the same time
                log = known
            self._used[key] = self._kept[key] = log
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return log

    def forget(self, key: Key) -> None:
        """Drop the log of a session that is gone."""
        with _lock:
            self._kept.pop(key, None)
            self._used.pop(key, None)


def check_append(session: Session, event: Event, *, version: int, lease: int) -> None:
    """Raise where `session` is no view of the stored one, which has `version` events and the epoch `lease`."""
    if session.lease != lease:
        raise FencedError(fenced(session.id, session.lease, lease))
    if session.version > version:
        raise StaleSessionError(
            f"the session {session.id!r} was deleted and created anew since this copy of it was read "
            f"({session.version} events then, {version} now): get it again; event {event.id} is not stored"
        )
    actions = event.touched_actions
    if actions is not None and actions.state_delta:
        check_keys(actions.state_delta, f"event {event.id} of {event.author!r}")


def check_keys(delta: Mapping[Any, Any], subject: str) -> None:
    """Raise SessionError where a key of a state delta is not a string: it has no scope."""
    for key in delta:
        if not isinstance(key, str):
            raise SessionError(
                f"{subject} cannot be stored: the state key {key!r} is {type(key).__name__}, not str; "
                f"nothing was written"
            )


def fenced(session_id: str, held: int, current: int) -> str:
    """The message of a FencedError."""
    return (
        f"another worker took the session {session_id!r} over (lease {current}, this view holds {held}): "
        f"stop, and open the session again if the work is still yours"
    )


def catch_up(session: Session, log: EventLog, version: int | None = None) -> None:
    """Bring a view to `version` of the log (its end where None): events, state and version.

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
        known = {event.id for event in session.events}
        _own(session).extend(event for event in tail if event.id not in known)
    session.version = version
    session.last_update_time = log[version - 1].timestamp


def committed(session: Session, log: EventLog, sequence: int, event: Event) -> None:
    """Apply `event`, which the store committed with the number `sequence`, to the view it was appended through."""
    actions = event.touched_actions
    if session.version <= sequence:
        if session.version < sequence:
            catch_up(session, log, sequence)
        if actions is not None:
            apply_to_state(session.state, event)
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
