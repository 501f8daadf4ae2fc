"""Leases: which views of this service run a session.

A lease has an owner, an end by the clock of the store, and an epoch, which counts the leases so far. The
view that holds it appends under that epoch. Once another owner has taken it, the epoch has changed: see FencedError.

What a service may believe of its own lease comes from its own clock, which never steps, at the time it asked the
store. See docs/explanation/decisions/0020-leases-and-clocks.md.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from newel.claims.owners import new_owner
from newel.sessions.stored.dialects import LONGEST_LEASE
from newel_kernel import ConfigurationError, FencedError, Session, brief

#: The parts of a lease's seconds after which it is renewed, and after which its run ends if it could not be.
_RENEWED_AFTER, _LOST_AFTER = 1 / 3, 3 / 4


def check_seconds(seconds: float) -> None:
    """Refuse a lease that is longer than a day; 0 or less lets a lease run out at once."""
    if not seconds <= LONGEST_LEASE:
        raise ConfigurationError(
            f"a lease lasts at most {LONGEST_LEASE} seconds, not {seconds}: renew it, or let the service renew it"
        )


@dataclass(slots=True, eq=False)
class Lease:
    """The lease that a view holds, or will hold with its next append (`taken` is False until then)."""

    view: Session
    number: int
    owner: str
    #: The owner that the store names, if its process is known to have ended.
    dead_owner: str | None
    seconds: float
    #: Renewed by the service while it lasts, and not only by appends.
    lasting: bool
    taken: bool = False
    #: The owner that had it before and let it run out.
    lapsed: str | None = None
    #: When the store was last asked for it, and granted it (see `clockwork.elapsed`).
    since: float = 0.0
    #: Whether another owner has it, or could have it in a moment: nothing may be done under it any more.
    lost: bool = False
    #: Called, in any thread, when it is lost.
    on_loss: Callable[[], object] | None = field(default=None, repr=False)

    @property
    def sure_until(self) -> float:
        """Until this time no other owner can have it, whatever happens: half of its seconds after it was asked for."""
        return self.since + self.seconds / 2

    def renewed(self, start: float) -> None:
        """Note that it lasts its seconds from `start` or later."""
        self.since = max(self.since, start)

    def check(self) -> None:
        """Raise FencedError if it is lost."""
        if self.lost:
            raise FencedError(f"this view no longer holds the lease of the session {brief(self.view.id)!r}: stop")

    def is_due(self, now: float) -> bool:
        """Whether it is time to renew it."""
        return now >= self.since + self.seconds * _RENEWED_AFTER

    @property
    def over_at(self) -> float:
        """When it was not renewed for so long that others may take it soon: its run must have ended by then."""
        return self.since + self.seconds * _LOST_AFTER


class Leases:
    """The leases of one service."""

    def __init__(self) -> None:
        self.owner = new_owner()
        #: Called with a lease that the service has to renew; set by what renews it.
        self.on_taken: Callable[[Lease], None] | None = None
        #: The seconds of the shortest lease that there was.
        self.shortest = math.inf
        self._leases: dict[int, Lease] = {}
        self._lock = threading.Lock()

    def add(self, lease: Lease) -> None:
        """Remember a lease."""
        with self._lock:
            self._leases[id(lease.view)] = lease
        if 0 < lease.seconds < self.shortest:
            self.shortest = lease.seconds

    def granted(self, lease: Lease, epoch: int, start: float) -> None:
        """Note that the store, asked at `start`, has given the lease to its view, under `epoch`."""
        if not lease.taken:
            lease.view.lease, lease.taken = epoch, True
            lease.renewed(start)
            if lease.lasting and self.on_taken is not None:
                self.on_taken(lease)
        else:
            lease.renewed(start)

    def of(self, view: Session) -> Lease | None:
        """The lease of a view, or None."""
        return self._leases.get(id(view)) if self._leases else None

    def drop(self, view: Session) -> Lease | None:
        """Forget the lease of a view."""
        with self._lock:
            return self._leases.pop(id(view), None)

    def lose(self, lease: Lease) -> None:
        """Note that the lease is gone, and tell the run that holds it; do nothing if it was given back meanwhile."""
        with self._lock:
            if self._leases.get(id(lease.view)) is not lease or lease.lost:
                return
            lease.lost = True
        if lease.on_loss is not None:
            lease.on_loss()

    def lasting(self) -> list[Lease]:
        """The leases that the service renews."""
        with self._lock:
            return [
                one
                for one in self._leases.values()
                if one.lasting and one.taken and not one.lost and one.seconds > 0  # else it has run out on purpose
            ]

    def forget(self) -> None:
        """Start again, in a child process: the parent's leases are not its own."""
        self.owner, self._leases, self._lock = new_owner(), {}, threading.Lock()
