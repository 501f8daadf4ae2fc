"""The contract of a session store beyond google-adk's: out-of-band appends, tails, forks, pages, and leases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from newel_kernel import BaseSessionService, Event, Session

if TYPE_CHECKING:
    from newel.sessions.watching import Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a store claims that it can do; `newel.testing.session_conformance` checks it."""

    #: Acknowledged writes outlive the process, and values come back in their JSON form.
    durable: bool
    #: Several services, even in several processes, may share one place, and the store has leases.
    shared: bool


class SessionPage(NamedTuple):
    """Sessions without their events; `next` is the `after` of the following page, None on the last page."""

    sessions: list[Session]
    next: str | None = None


class SessionOwner(NamedTuple):
    """A user of an app who has sessions: how many, and when one of them was last changed (seconds since the epoch)."""

    app_name: str
    user_id: str
    sessions: int
    last_update_time: float


class OwnedSessions(ABC):
    """What a store implements that can say whose sessions it holds."""

    @abstractmethod
    async def owners(self) -> list[SessionOwner]:
        """The users who have sessions, by app and user."""


class SearchableSessions(ABC):
    """What a store implements that finds texts without reading every event into the process."""

    @abstractmethod
    async def containing(self, *, app_name: str, user_id: str, texts: Sequence[str]) -> list[str]:
        """The ids of the user's sessions in whose stored JSON each of `texts` occurs, the one changed last first.

        Upper and lower case are the same. The store may name further sessions, so look at what it names.
        """


class WatchedSessions(ABC):
    """What a store implements that says when a session changes, so that its followers need not look so often."""

    @abstractmethod
    def watch(self, *, app_name: str, user_id: str, session_id: str) -> AbstractAsyncContextManager[Watch]:
        """A watch over a session: what changes from now on ends its wait. No event is in it, so look at the log."""

    @abstractmethod
    async def wake(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """End the waits of a session's followers, also in other processes: its run has changed, if not its log."""


class SessionStore(BaseSessionService):
    """A session store with every method that newel can make use of."""

    capabilities: Capabilities

    @abstractmethod
    async def append_out_of_band(
        self, *, app_name: str, user_id: str, session_id: str, event: Event, after: int | None = None
    ) -> Event:
        """Append during a run of the session: at the end of the log, without making that run stale.

        With `after`, only if the session has exactly that many events, else StaleSessionError: of several who append
        after the same events, in whichever processes, one does.
        """

    @abstractmethod
    async def tail(self, *, app_name: str, user_id: str, session_id: str, after: int) -> list[Event]:
        """The committed events after the first `after`, in order; empty if the session does not exist."""

    async def refresh(self, session: Session) -> None:
        """Bring a view up to date with what others have appended to its session."""

    @abstractmethod
    async def fork(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        new_session_id: str | None = None,
        events: int | None = None,
    ) -> Session:
        """A new session of the same user with the first `events` events of this one (all if None).

        Its state is the state after those events: keys that only later events wrote are gone; others keep their values,
        since they may be from the creation. ``app:`` and ``user:`` state is shared as always. A runner's `fork_session`
        copies the artifacts, too. Raises SessionNotFoundError, and AlreadyExistsError if a session has the new id.
        """

    @abstractmethod
    async def list_page(
        self, *, app_name: str, user_id: str | None = None, size: int = 100, after: str | None = None
    ) -> SessionPage:
        """At most `size` sessions, by user and in order of creation, after the page that gave `after`."""


class SharedSessionStore(SessionStore):
    """A store that several processes use. A lease lasts by the store's clock; each new one has a higher epoch."""

    @abstractmethod
    async def claim(self, *, app_name: str, user_id: str, session_id: str, owner: str, ttl: float) -> Session | None:
        """Take the session for `ttl` seconds: a view that holds the lease, or None if another owner has it."""

    @abstractmethod
    async def renew(self, session: Session, *, ttl: float) -> None:
        """Prolong the lease that the view holds; FencedError if another owner has taken it."""

    @abstractmethod
    async def release(self, session: Session) -> None:
        """Give the lease back, so that the next claim need not wait."""
