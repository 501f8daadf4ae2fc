"""Leases: which views of this service run a session.

A lease has an owner, an end by the clock of the store, and an epoch, which counts the leases so far. The
view that holds it appends under that epoch. Once another owner has taken it, the epoch has changed: see FencedError.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from newel.claims.owners import new_owner
from newel_kernel import Session

#: A clock that keeps running while this process, or its machine, sleeps.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)


def elapsed() -> float:
    """Seconds since an arbitrary moment."""
    return time.clock_gettime(_CLOCK) if _CLOCK is not None else time.monotonic()


@dataclass(slots=True)
class Lease:
    """The lease that a view holds, or will hold with its next append (`taken` is False until then)."""

    view: Session
    number: int
    owner: str
    #: The owner that the store names, if its process is known to have ended.
    dead_owner: str | None
    seconds: float
    #: Prolonged by the service while it lasts, and not only by appends.
    lasting: bool
    taken: bool = False
    #: The owner that had it before and let it run out.
    lapsed: str | None = None
    #: Until this time (see `elapsed`) no other owner can have it: half its seconds after it was asked for.
    sure_until: float = 0.0

    def renewed(self, start: float) -> None:
        """Note that it lasts its seconds from `start` or later."""
        self.sure_until = max(self.sure_until, start + self.seconds / 2)


class Leases:
    """The leases of one service."""

    def __init__(self) -> None:
        self.owner = new_owner()
        self._leases: dict[int, Lease] = {}
        self._lock = threading.Lock()

    def add(self, lease: Lease) -> None:
        """Remember a lease."""
        with self._lock:
            self._leases[id(lease.view)] = lease

    def of(self, view: Session) -> Lease | None:
        """The lease of a view, or None."""
        return self._leases.get(id(view)) if self._leases else None

    def drop(self, view: Session) -> Lease | None:
        """Forget the lease of a view."""
        with self._lock:
            return self._leases.pop(id(view), None)

    @property
    def has_any(self) -> bool:
        """Whether the service has leases."""
        return bool(self._leases)

    @property
    def interval(self) -> float | None:
        """How often the lasting leases must be prolonged, in seconds; None: no lease is lasting."""
        if not self._leases:
            return None
        seconds = [lease.seconds for lease in self.lasting() if lease.seconds > 0]  # else it has run out on purpose
        return min(seconds) / 3 if seconds else None

    def lasting(self) -> list[Lease]:
        """The leases that the service prolongs."""
        with self._lock:
            return [one for one in self._leases.values() if one.lasting and one.taken]

    def forget(self) -> None:
        """Start again, in a child process: the parent's leases are not its own."""
        self.owner, self._leases, self._lock = new_owner(), {}, threading.Lock()
