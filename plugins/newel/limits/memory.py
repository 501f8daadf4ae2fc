"""MemoryGates: the gates of sessions in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from newel.limits.gates import FORGOTTEN, GRACE, Turn, Waiting, new_average, turn_of
from newel.sessions.in_memory_session_service import InMemorySessionService
from newel.sessions.stored import clockwork
from newel_kernel import BaseSessionService


@dataclass(slots=True)
class _Ticket:
    number: int
    lapses: float
    #: Since when it is in; None: it waits.
    since: float | None = None
    away: bool = False


@dataclass(slots=True)
class _Gate:
    next: int = 0
    average: float = 0.0
    #: When the next one may begin.
    free: float = 0.0
    tickets: dict[str, _Ticket] = field(default_factory=dict)

    def clear(self, now: float) -> None:
        """Forget those that are gone."""
        for name, one in [*self.tickets.items()]:
            if one.lapses + (FORGOTTEN if one.since is None else 0.0) <= now:
                del self.tickets[name]


class MemoryGates:
    """See `Gates`. Threads may share it."""

    def __init__(self) -> None:
        self._gates: dict[str, _Gate] = {}
        self._lock = threading.Lock()

    async def enter(self, gate: str, ticket: str, limit: int, lease: float, waiting: Waiting) -> Turn:
        """See `Gates`."""
        with self._lock:
            now, one = clockwork.elapsed(), self._gates.setdefault(gate, _Gate())
            one.clear(now)
            if (own := one.tickets.get(ticket)) is None:
                own = one.tickets[ticket] = _Ticket(one.next, now)
                one.next += 1
            since = [other.since for other in one.tickets.values() if other.since is not None and other is not own]
            before = (other for other in one.tickets.values() if other.since is None and other.number < own.number)
            waits = [other.away for other in before if other.lapses > now]
            line, present = len(since) + len(waits), len(since) + waits.count(False)
            if own.since is not None or present < limit:
                own.since, own.lapses = own.since or now, now + lease
                return Turn(True)
            turn = turn_of(line, present, limit, one.average, waiting, now - max(since, default=now))
            own.lapses, own.away = now + turn.seconds + GRACE, turn.away
            return turn

    async def renew(self, gate: str, ticket: str, lease: float) -> bool:
        """See `Gates`."""
        with self._lock:
            now, one = clockwork.elapsed(), self._gates.setdefault(gate, _Gate())
            one.clear(now)
            own = one.tickets.get(ticket)
            if own is None or own.since is None:
                return False
            own.lapses = now + lease
            return True

    async def leave(self, gate: str, ticket: str) -> None:
        """See `Gates`."""
        with self._lock:
            one = self._gates.setdefault(gate, _Gate())
            own = one.tickets.pop(ticket, None)
            if own is not None and own.since is not None:
                one.average = new_average(one.average, clockwork.elapsed() - own.since)

    async def pace(self, gate: str, rate: float, most: float) -> float | None:
        """See `Gates`."""
        with self._lock:
            now, one = clockwork.elapsed(), self._gates.setdefault(gate, _Gate())
            seconds = max(one.free - now, 0.0)
            if seconds > most:
                return None
            one.free = now + seconds + 1 / rate
            return seconds


_gates: WeakKeyDictionary[BaseSessionService, MemoryGates] = WeakKeyDictionary()
_making = threading.Lock()


def of_memory(service: BaseSessionService) -> MemoryGates | None:
    """The gates of sessions in memory, which last as long as they do; None: they are elsewhere."""
    if not isinstance(service, InMemorySessionService):
        return None
    with _making:
        return _gates.setdefault(service, MemoryGates())
