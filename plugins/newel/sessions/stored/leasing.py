"""Leasing: the part of a durable store that says who runs a session (see `newel.claims.LeasingStore`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from newel.claims.errors import SessionBusyError
from newel.claims.owners import is_dead
from newel.sessions.errors import StoreUnavailableError
from newel.sessions.stored import clockwork
from newel.sessions.stored.changes import Changes
from newel.sessions.stored.database import Database
from newel.sessions.stored.leases import Lease, Leases, check_seconds
from newel.sessions.stored.patience import OnePatience
from newel.sessions.stored.reader import SessionReader
from newel.sessions.stored.rows import Key
from newel.sessions.stored.writes import Prolong, Take
from newel_kernel import FencedError, Session, brief

#: So often a lease is asked for before an effect, if the answers come late.
_CONFIRMATIONS = 5


class Leasing:
    """Leases of sessions in a database."""

    _database: Database
    _leases: Leases
    _reader: SessionReader
    _changes: Changes

    def holder(self, session: Session) -> str | None:
        """The other owner of the session's lease when it was last opened; None if that process is known to be dead."""
        log = self._reader.logs.get(_key(session))
        owner = self._other(log.owner) if log is not None and log.seconds_left > 0 else None
        return None if owner is None or is_dead(owner) else owner

    def lapsed_holder(self, session: Session) -> str | None:
        """The owner whose lease ran out before this view asked for it; None if that process is known to be dead."""
        lease = self._leases.of(session)
        lapsed = lease.lapsed if lease is not None else None
        return None if lapsed is None or is_dead(lapsed) else lapsed

    def seconds_left(self, session: Session) -> float:
        """How many seconds the lease had left when the session was last opened, if it is not prolonged."""
        log = self._reader.logs.get(_key(session))
        return log.seconds_left if log is not None else 0.0

    def hold(self, session: Session, seconds: float) -> None:
        """Take the lease with the next append through this view, and prolong it until `release_soon`."""
        log = self._reader.logs.get(_key(session))
        if log is not None:
            check_seconds(seconds)
            owner, is_over = self._other(log.owner), log.seconds_left <= 0
            dead_owner = owner if owner is not None and not is_over and is_dead(owner) else None
            lapsed = owner if is_over else None
            self._leases.add(
                Lease(session, log.number, self._leases.owner, dead_owner, seconds, lasting=True, lapsed=lapsed)
            )

    def _other(self, owner: str | None) -> str | None:
        """`owner`, unless it is this service itself: a lease that it has just given back may still be in the store."""
        return None if owner == self._leases.owner else owner

    async def take(self, session: Session) -> None:
        """Take now what `hold` has asked for; SessionBusyError if another owner has it."""
        lease = self._leases.of(session)
        if lease is None:
            return
        start = clockwork.elapsed()
        epoch = await self._database.commit(Take(_key(session), lease.owner, lease.dead_owner, lease.seconds))
        if epoch is None:
            raise SessionBusyError.of(session.id, "which came first")
        self._leases.granted(lease, epoch, start)

    def confirm(self, session: Session) -> Awaitable[None] | None:
        """What to await before an effect, to be sure that this view holds its lease: FencedError if it does not.

        None if that is known without asking: enough of the lease is left by this process's own clock.
        """
        lease = self._leases.of(session)
        if lease is None or (lease.taken and not lease.lost and clockwork.elapsed() < lease.sure_until):
            return None
        return self._confirmed(session, lease)

    async def _confirmed(self, session: Session, lease: Lease) -> None:
        """Ask the store until an answer comes so soon that it still holds."""
        with OnePatience():
            for _ in range(_CONFIRMATIONS):
                lease.check()
                await (self.renew(session, ttl=lease.seconds) if lease.taken else self.take(session))
                if clockwork.elapsed() < lease.sure_until or lease.seconds <= 0:
                    return
        raise StoreUnavailableError(
            f"the lease of the session {brief(session.id)!r} could not be confirmed: the store takes longer to answer "
            f"than half of its {lease.seconds:g} seconds; raise `lease_seconds` of the plugin 'claims', or try again"
        )

    def when_lost(self, session: Session, call: Callable[[], object]) -> None:
        """Call `call`, in any thread, once the lease that `hold` asked for is lost, or is about to run out."""
        if (lease := self._leases.of(session)) is not None:
            lease.on_loss = call

    def release_soon(self, session: Session) -> None:
        """Give the lease back, without waiting for the store."""
        lease = self._leases.drop(session)
        if lease is not None and lease.taken:
            self._database.send(self._given_back(session, lease))

    async def claim(self, *, app_name: str, user_id: str, session_id: str, owner: str, ttl: float) -> Session | None:
        """Take the session for `ttl` seconds: a view that holds the lease, or None if another owner has it."""
        check_seconds(ttl)
        with OnePatience():
            return await self._claimed(Key(app_name, user_id, session_id), owner, ttl)

    async def _claimed(self, key: Key, owner: str, ttl: float) -> Session | None:
        start = clockwork.elapsed()
        epoch = await self._database.commit(Take(key, owner, None, ttl))
        view = await self._reader.view(key) if epoch is not None else None
        if view is not None and epoch is not None:
            view.lease = epoch
            log = await self._reader.loaded(key)
            lease = Lease(view, log.number, owner, None, ttl, lasting=False, taken=True)
            lease.renewed(start)
            self._leases.add(lease)
        return view

    async def renew(self, session: Session, *, ttl: float) -> None:
        """Prolong the lease that the view holds; FencedError if another owner has taken it."""
        check_seconds(ttl)
        lease, start = self._leases.of(session), clockwork.elapsed()
        if (
            lease is None
            or lease.lost
            or not await self._database.commit(Prolong(_key(session), lease.number, session.lease, ttl))
        ):
            raise FencedError(f"this view no longer holds the lease of the session {brief(session.id)!r}: stop")
        lease.seconds = ttl
        lease.renewed(start)

    async def release(self, session: Session) -> None:
        """Give the lease back, so that the next claim need not wait."""
        if (lease := self._leases.drop(session)) is not None:
            await self._database.commit(self._given_back(session, lease))

    def _given_back(self, session: Session, lease: Lease) -> Prolong:
        """That a run is over: its followers learn it by that."""
        return Prolong(_key(session), lease.number, session.lease, None, self._changes.happened)


def _key(session: Session) -> Key:
    return Key(session.app_name, session.user_id, session.id)
