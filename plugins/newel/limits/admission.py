"""Admission: a run goes in only if its tenant has a place, and the worker does others meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

from newel.connections.wakes import Wakes
from newel.limits.gates import Gates, Turn, Waiting, gate_id
from newel.limits.holding import holding, left
from newel.limits.places import gates_of
from newel.limits.settings import Settings, bounds_of
from newel_kernel import NewelError, brief, seam

if TYPE_CHECKING:
    from newel_kernel import BaseSessionService, Chains

#: How soon and how late a run that waits is asked for again. Those that are next soon wait in their worker.
_WAITING = Waiting(0.6, 10.0, soon=1.0)
#: For how long they do, and how often they ask: runs that leave in other processes wake nobody here.
_MOMENT, _PAUSE = 2.0, 0.15
_exits = Wakes()
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
        gates, gate, lease = gates_of(service, chains), gate_id("tenant", tenant), settings.lease_seconds
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
        try:
            async with holding(gates, gate, ticket, lease, lost):
                yield
        finally:
            _exits.wake(gate)
    finally:
        _tenant.reset(token)


async def _entered(gates: Gates, gate: str, ticket: str, limit: int, lease: float) -> Turn:
    """Go in, or learn when to ask again. The next ones wait here for a moment, if those inside are soon out."""
    ends = seam.monotonic() + _MOMENT
    with _exits.watched(gate) as exit_:
        turn = await gates.enter(gate, ticket, limit, lease, _WAITING)
        while not (turn.held or turn.away):
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE):
                    await exit_.wait()
            exit_.clear()
            waiting = _WAITING
            if seam.monotonic() > ends:  # in vain: the worker does others for at least as long as all next ones wait
                waiting = Waiting(2 * limit * _MOMENT, 2 * limit * _MOMENT + _WAITING.most, soon=0.0)
            turn = await gates.enter(gate, ticket, limit, lease, waiting)
    return turn
