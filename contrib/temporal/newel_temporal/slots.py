"""Slots: how many polls for runs a worker has open, if some of its runs are between two activities."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress

from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    WorkerTuner,
)

from newel_kernel import seam
from newel_temporal.activities import Runs

#: A poll without an answer for so long says that the queue is empty, in seconds.
_QUIET = 0.25


class RunSlots(CustomSlotSupplier):
    """A slot for each run that a worker still has room for: one that is in steps is here also between its activities.

    With a fixed number of slots, a worker would take further runs as soon as one is in its first step, and these would
    wait here for their turn while other workers are free.
    """

    def __init__(self, runs: Runs, concurrency: int) -> None:
        self._runs = runs
        self._concurrency = concurrency
        self._taken = 0
        self._came = -math.inf
        self._loop = asyncio.get_running_loop()
        self._freed = asyncio.Event()

    def tuner(self) -> WorkerTuner:
        """For a worker that has nothing but activities."""
        one = FixedSizeSlotSupplier(1)
        return WorkerTuner.create_composite(
            workflow_supplier=one, activity_supplier=self, local_activity_supplier=one, nexus_supplier=one
        )

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        """See `CustomSlotSupplier`."""
        while (permit := self.try_reserve_slot(ctx)) is None:
            self._freed.clear()
            waits = [asyncio.ensure_future(one.wait()) for one in (self._freed, self._runs.changed)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
        return permit

    @property
    def is_free(self) -> bool:
        """Whether one is left. The SDK takes one for its open poll, and one for the next."""
        return self._taken + self._runs.untaken < self._concurrency

    @property
    def has_room(self) -> bool:
        """Whether a run may come here past its queue: there is a slot for it, and nothing waits in the queue."""
        return self.is_free and seam.monotonic() - self._came > _QUIET

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        """See `CustomSlotSupplier`."""
        if not self.is_free:
            return None
        self._taken += 1
        return SlotPermit()

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """See `CustomSlotSupplier`."""
        self._came = seam.monotonic()

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        """See `CustomSlotSupplier`; called in a thread of the SDK."""
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._released)

    def _released(self) -> None:
        self._taken -= 1
        self._freed.set()
