"""The gate of claims: one use of a session at a time, in this process and across those that share its store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING

from newel import runs
from newel.claims.claim import Claim, table_of, wait
from newel.claims.errors import SessionBusyError
from newel.claims.leasing import LEASES, is_leasing, tells_loss
from newel_kernel import Admission, Event, FencedError, Session, SessionGate, brief, open_session, seam

if TYPE_CHECKING:
    from newel.claims.leasing import LeasingStore
    from newel.claims.settings import Settings

#: How often a run that waits for another process checks whether the session is free, in seconds.
_POLL_SECONDS = 0.05
#: A finished run gives its session back without waiting for the store: how long that may take, in seconds.
_HANDOVER_SECONDS = 0.5


def gate(settings: Settings) -> SessionGate:
    """The gate that does with a second use of a session what the settings say."""
    claims = Claims(settings)
    return SessionGate(enter=claims.enter, leave=leave, around=claims.around)


class Claims:
    """Lets one use of a session in, by a claim on it and the lease of its store."""

    __slots__ = ("is_interruptible", "settings")

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.is_interruptible = settings.busy == "interrupt"

    async def enter(self, admission: Admission) -> Session:
        """The session, claimed and, if its store has leases, with its lease asked for."""
        service = admission.service
        where = (admission.app_name, admission.user_id, admission.session_id)
        claim = Claim(table_of(service), where, admission)
        if not claim.take():
            await wait(claim, admission, self.settings)
        session: Session | None = None
        try:
            session = await open_session(admission)
            if LEASES[type(service)] and is_leasing(service):
                session = await self._leased(service, session, admission)
                service.hold(session, self.settings.lease_seconds)
                if claim.ending is not None and tells_loss(service):
                    service.when_lost(session, partial(_lost, claim.ending, session.id))
                if admission.resumes or admission.at_once:
                    await service.take(session)
        except BaseException:
            if session is not None and is_leasing(service):
                service.release_soon(session)
            claim.end()
            raise
        admission.held = claim
        return session

    def around(self, events: AsyncGenerator[Event, None], admission: Admission) -> AsyncGenerator[Event, None]:
        """`events`, which end when a later run may have the session, or fail when the store has lost it."""
        if not self.is_interruptible and not LEASES[type(admission.service)]:
            return events
        admission.held = ending = runs.Ending(self.is_interruptible)
        return runs.endable(events, ending)

    async def _leased(self, store: LeasingStore, session: Session, admission: Admission) -> Session:
        """The session, opened again once no other process has its lease.

        A run that resumes also waits for a process that gives no sign of life: its lease runs out unprolonged.
        """
        settings, now = self.settings, seam.monotonic()
        end = now + (settings.wait_seconds if settings.busy == "queue" else _HANDOVER_SECONDS)
        remaining = store.seconds_left(session)
        silent_until = now + remaining + _POLL_SECONDS if admission.resumes else now
        while (holder := store.holder(session)) is not None:
            now, previous, remaining = seam.monotonic(), remaining, store.seconds_left(session)
            if now > end and (now > silent_until or remaining > previous):
                raise SessionBusyError.of(session.id, holder)
            await asyncio.sleep(_POLL_SECONDS if now < end else _POLL_SECONDS * 5)
            session = await open_session(admission)
        return session


def _lost(ending: runs.Ending, session_id: str) -> None:
    ending.end(
        FencedError(
            f"this run no longer holds the lease of the session {brief(session_id)!r}: it was not renewed in time, or "
            f"another run has it; what was stored is there"
        )
    )


def leave(admission: Admission) -> None:
    """Give the lease and the claim back, without waiting for the store."""
    claim: Claim = admission.held  # type: ignore[assignment]  # `enter` put it there
    admission.held, service = None, admission.service
    try:
        if LEASES[type(service)] and is_leasing(service) and admission.session is not None:
            service.release_soon(admission.session)
    finally:
        claim.end()
