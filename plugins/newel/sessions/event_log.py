"""EventLog: a session's committed events in memory, which every live view of the session shares."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import NoReturn, SupportsIndex, TypeAlias

from newel_kernel import Event, Stash
from newel_types import FrozenError

#: App name, user id and session id.
Key: TypeAlias = tuple[str, str, str]

#: The lock of logs and of what goes with them. Use it as `event_log.containers`: a fork replaces it.
#: Held for operations on containers only, never across I/O; so one for the process is enough. Reentrant, because
#: the garbage collector may run in between.
containers = threading.RLock()


def _renew_lock() -> None:
    global containers
    containers = threading.RLock()


if hasattr(os, "register_at_fork"):  # a thread that the child does not have may hold it
    os.register_at_fork(after_in_child=_renew_lock)


class EventLog(list[Event]):
    """The events of one session in append order; only a store extends it, with `grow`.

    `number` is the store's own number of this session: a session that was deleted and created again
    under the same id has another one. `cache` is what views share (see Session.cache).
    """

    #: Attributes that few logs set are class attributes; `__dict__` holds those that were assigned.
    __slots__ = ("__dict__", "__weakref__", "_greatest", "cache", "number")

    #: A view that has seen fewer events is stale: another process wrote first (and not out of band).
    foreign = 0
    #: What this process is writing after the log's end: it is in the store a little before it is in the log.
    coming: tuple[Sequence[Event], Event] | None = None
    #: The owner that had taken the session's lease, and not given it back, when the session was last opened.
    owner: str | None = None
    #: How many seconds the lease had left then; 0 or less: it had run out.
    seconds_left = 0.0
    #: The ids of the first `_seen` events; set once an id came that was not greater than all before it.
    _ids: set[str] | None = None
    _seen = 0

    def __init__(self, events: Sequence[Event] = (), number: int = 0) -> None:
        list.__init__(self, events)
        self.number = number
        self.cache = Stash()
        #: The greatest id of an event: ids count upwards, so most new ones are greater.
        self._greatest = max((event.id for event in events), default="") if events else ""

    def knows(self, event_id: str) -> bool:
        """Whether an event of that id is in the log."""
        if event_id > self._greatest:
            self._greatest = event_id  # if that event is not added after all, the next look-up searches for it
            return False
        if self._ids is None:
            self._ids = set()
        if self._seen < (count := len(self)):
            self._ids.update([event.id for event in self[self._seen : count]])
            self._seen = count
        return event_id in self._ids

    def grow(self, first: int, events: Sequence[Event]) -> None:
        """Add `events`, the first of which has the sequence number `first`; those already here are left out.

        A reader that loads a tail and the writer that committed it may both add it.
        """
        with containers:
            for event in events[len(self) - first :] if first <= len(self) else ():
                list.append(self, event)
                if event.id > self._greatest:
                    self._greatest = event.id

    @staticmethod
    def own(events: Sequence[Event], coming: tuple[Sequence[Event], Event] | None) -> int:
        """How many of the first `events` this process has written itself; `coming` is what it was writing."""
        ids = {event.id for event in (*coming[0], coming[1])} if coming is not None else ()
        return next((count for count, event in enumerate(events) if event.id not in ids), len(events))

    #: Adds the next event.
    take = list.append

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        """Cut events off the end, for a store that takes back a write; nothing else can be deleted."""
        if not isinstance(index, slice) or index.step is not None or index.indices(len(self))[1] < len(self):
            self._refuse()
        list.__delitem__(self, index)
        self._ids, self._seen = None, 0

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise FrozenError(
            "the events of a live session cannot be changed: add with session_service.append_event(session, event), "
            "or work on a copy: list(session.events)"
        )

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __setitem__ = __iadd__ = __imul__ = _refuse

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[type[list[Event]], tuple[list[Event]]]:
        return list, (list(self),)  # a copy is an ordinary list


#: How many logs stay in memory at least, and up to which size together more of them do: about 30 MB. The size of a log
#: is that of its events, and of what is kept with it, as so many more events.
_LOGS, _SIZE, _KEPT = 256, 32_768, 16


class LiveLogs:
    """The logs in use, one per session, and those that were used last: `most` of them, or None: by their size."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most if most is None else max(most, 1)
        self._used: weakref.WeakValueDictionary[Key, EventLog] = weakref.WeakValueDictionary()
        #: The logs used last, with their sizes when they were used.
        self._recent: OrderedDict[Key, tuple[EventLog, int]] = OrderedDict()
        self._size = 0

    def get(self, key: Key) -> EventLog | None:
        """The log of a session, or None."""
        return self._used.get(key)

    def keep(self, key: Key, log: EventLog) -> EventLog:
        """The one log of the session (`log`, if there was none); it now counts as used last."""
        with containers:
            present = self._used.get(key)
            if present is not None and present is not log and present.number >= log.number:
                if present.number == log.number:
                    present.grow(0, log)  # two readers loaded it at the same time
                log = present
            self._used[key] = log
            self._drop(key)
            size = len(log) + _KEPT
            self._recent[key] = log, size
            self._size += size
            while self._are_too_many():
                self._drop(next(iter(self._recent)))
            return log

    def _are_too_many(self) -> bool:
        count = len(self._recent)
        return count > self.most if self.most is not None else count > _LOGS and self._size > _SIZE

    def _drop(self, key: Key) -> None:
        _, size = self._recent.pop(key, (None, 0))
        self._size -= size

    def forget(self, key: Key) -> None:
        """Drop the log of a session that is gone."""
        with containers:
            self._drop(key)
            self._used.pop(key, None)
