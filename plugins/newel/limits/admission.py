"""Admission: a run goes in only if its tenant has a place, and the worker does others meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from newel.limits.gates import Gates, Turn, Waiting, gate_id
from newel.limits.holding import holding, left
from newel.limits.places import gates_of
from newel.limits.settings import Settings, bounds_of
from newel_kernel import NewelError, brief, seam

if TYPE_CHECKING:
    from newel_kernel import BaseSessionService, Chains

#: How soon and how late a run that waits is asked for again.
_WAITING = Waiting(0.25, 10.0)
#: A run is next soon if it would ask again in so many seconds: it waits in its worker for a moment, and asks so often.
_SOON, _MOMENT, _PAUSE = 0.5, 1.0, 0.15
#: Whose run it is; empty: nobody's.
_tenant: ContextVar[str] = ContextVar("newel_tenant", default="")


class NotAdmittedError(NewelError):
    """The tenant has as many runs as it may have: ask again in `seconds`."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


def current_tenant() -> str:
    """Whose run this is; empty: nobody's."""
    return _tenant.get()


@asynccontextmanager
async def admitted(
    chains: Chains, service: BaseSessionService, tenant: str, ticket: str, lost: Callable[[], object]
) -> AsyncIterator[None]:
    """A block that is a tenant's run; raises NotAdmittedError if it has no place. `lost`: its place is others'."""
    settings = chains.settings_of("limits", Settings)
    bounds = bounds_of(settings.tenants, tenant)
    token = _tenant.set(tenant)
    try:
        if bounds is None or bounds.concurrency is None:  # calls still know whose they are
            yield
            return
        gates, gate, lease = gates_of(service), gate_id("tenant", tenant), settings.lease_seconds
        try:
            turn = await _entered(gates, gate, ticket, bounds.concurrency, lease)
        except BaseException:  # it may be in
            await left(gates, gate, ticket)
            raise
        if not turn.held:
            raise NotAdmittedError(
                f"tenant {brief(tenant)!r} has its {bounds.concurrency} runs; this is number {turn.ahead} of the line",
                turn.seconds,
            )
        async with holding(gates, gate, ticket, lease, lost):
            yield
    finally:
        _tenant.reset(token)


async def _entered(gates: Gates, gate: str, ticket: str, limit: int, lease: float) -> Turn:
    """Go in, or learn when to ask again. The next ones wait here for a moment, if those inside are soon out."""
    ends = seam.monotonic() + _MOMENT
    while not (turn := await gates.enter(gate, ticket, limit, lease, _WAITING)).held:
        if turn.ahead > limit or turn.seconds > _SOON:
            break
        if seam.monotonic() > ends:  # in vain: the worker does others for at least as long as all next ones wait
            return turn._replace(seconds=max(turn.seconds, 2 * limit * _MOMENT))
        await asyncio.sleep(_PAUSE)
    return turn
