"""Holding: a place at a gate, renewed until it is left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from newel_kernel import SessionError, seam

if TYPE_CHECKING:
    from newel.limits.gates import Gates

logger = logging.getLogger(__name__)


@asynccontextmanager
async def holding(
    gates: Gates, gate: str, ticket: str, lease: float, lost: Callable[[], object] | None = None
) -> AsyncIterator[None]:
    """A block that is in at a gate, and leaves it. `lost` is called if the place was lost meanwhile."""
    renewal = seam.spawn(_renewed(gates, gate, ticket, lease, lost))
    try:
        yield
    finally:
        renewal.cancel()
        await left(gates, gate, ticket)


async def left(gates: Gates, gate: str, ticket: str) -> None:
    """Leave, also if this is cancelled. If the store is away, the place lapses."""
    await asyncio.shield(seam.spawn(_left(gates, gate, ticket)))


async def _left(gates: Gates, gate: str, ticket: str) -> None:
    try:
        await gates.leave(gate, ticket)
    except SessionError as error:
        logger.warning("a place at the limit %s is kept until it lapses: %s", gate, type(error).__name__)


async def _renewed(gates: Gates, gate: str, ticket: str, lease: float, lost: Callable[[], object] | None) -> None:
    until = seam.monotonic() + lease
    while True:
        await asyncio.sleep(lease / 3)
        now = seam.monotonic()
        try:
            held = await gates.renew(gate, ticket, lease)
            until = now + lease
        except SessionError:
            held = seam.monotonic() < until  # the next one may succeed
        if not held:
            if lost is not None:
                lost()
            return
