"""Works: what a worker of a check does otherwise than an app's own work."""

from __future__ import annotations

import asyncio

from newel.engines import InvocationSpec, Outcome, Stepping, Work


class WorkOf:
    """An app's work; a check's own kind does one thing otherwise."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def __call__(self, spec: InvocationSpec, stepping: Stepping | None = None) -> Outcome:
        """See `Work`."""
        return await self._work(spec, stepping)

    async def close(self, spec: InvocationSpec) -> Outcome:
        """See `Work`."""
        return await self._work.close(spec)

    def release(self, key: str) -> None:
        """See `Work`."""
        self._work.release(key)


class SlowToClose(WorkOf):
    """Work that closes the calls of a run only once it may."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        #: Whether it has begun to close a run.
        self.closes = asyncio.Event()
        self.may_close = asyncio.Event()

    async def close(self, spec: InvocationSpec) -> Outcome:
        """See `Work`."""
        self.closes.set()
        await self.may_close.wait()
        return await super().close(spec)
