"""The contract of a session store beyond google-adk's: out-of-band appends, tails, forks, pages, and leases."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from newel_kernel import BaseSessionService, Event, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a store can do; `newel.testing.session_conformance` checks what it says."""

    #: What was acknowledged outlives the process, and values come back in their JSON form.
    durable: bool
    #: Several services, also of several processes, may have one place, and it has leases.
    shared: bool


class SessionPage(NamedTuple):
    """Sessions without their events; `next` begins the page that follows, None where this is the last."""

    sessions: list[Session]
    next: str | None = None


class SessionStore(BaseSessionService):
    """A session store with all that newel can use of one."""

    capabilities: Capabilities

    @abstractmethod
    async def append_out_of_band(self, *, app_name: str, user_id: str, session_id: str, event: Event) -> Event:
        """Append beside whoever runs the session: behind what is there, and without making that run stale."""

    @abstractmethod
    async def tail(self, *, app_name: str, user_id: str, session_id: str, after: int) -> list[Event]:
        """The committed events behind the first `after`, in order; none where there is no such session."""

    @abstractmethod
    async def fork(
        self, *, app_name: str, user_id: str, session_id: str, new_session_id: str | None = None,
        events: int | None = None,
    ) -> Session:  # fmt: skip
        """A new session of the same user with the first `events` events of this one (all where None).

        Its state is that after those events; keys that only later events wrote are gone, others keep their values, for
        they may be from the creation. ``app:`` and ``user:`` state is shared as always. A runner's `fork_session`
        copies the artifacts, too. Raises SessionNotFoundError, and AlreadyExistsError where there is a session of the
        new id.
        """

    @abstractmethod
    async def list_page(
        self, *, app_name: str, user_id: str | None = None, size: int = 100, after: str | None = None
    ) -> SessionPage:
        """At most `size` sessions, by user and in the order of their creation, behind the page that gave `after`."""


class SharedSessionStore(SessionStore):
    """A store that several processes use. A lease lasts by the store's clock; each has a higher epoch."""

    @abstractmethod
    async def claim(self, *, app_name: str, user_id: str, session_id: str, owner: str, ttl: float) -> Session | None:
        """Take the session for `ttl` seconds: a view that holds the lease, or None where another owner has it."""

    @abstractmethod
    async def renew(self, session: Session, *, ttl: float) -> None:
        """Prolong the lease that the view holds; FencedError where somebody else has taken it."""

    @abstractmethod
    async def release(self, session: Session) -> None:
        """Give the lease back, so that the next claim need not wait."""
