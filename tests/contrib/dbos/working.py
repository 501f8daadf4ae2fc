"""Work that does what its run's name says, and what the tests ask of an engine."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import Any

from newel.engines import BaseEngine, InvocationSpec, Outcome, PostponedError, RunRecord, RunState

HOST = os.environ.get("PGHOST", "127.0.0.1")
#: The bound of each wait, on a machine that is busy with other things.
PATIENCE = 45.0


def spec_of(app: str, name: str, **more: Any) -> InvocationSpec:
    """The spec of the run `name`."""
    given = {"user_id": "ada", "session_id": f"s-{name}", **more}
    return InvocationSpec(app_name=app, invocation_id=name, **given)


async def until(engine: BaseEngine, key: str, *states: RunState) -> RunRecord:
    """The record of a run once it is in one of the states."""

    async def wait() -> RunRecord:
        while (record := await engine.record(key)) is None or record.state not in states:
            await asyncio.sleep(0.03)
        return record

    return await asyncio.wait_for(wait(), PATIENCE)


class Working:
    """Work: the beginning of a run's name says what it does."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.order: list[str] = []
        #: The keys of the runs at the same time, and the most of them.
        self.now: set[str] = set()
        self.most = 0
        #: What cancelled runs have left open, and closed.
        self.closed: list[str] = []
        self.answered: set[str] = set()
        self._ends: dict[str, asyncio.Future[None]] = {}

    async def __call__(self, spec: InvocationSpec) -> Outcome:
        self.calls[spec.key] += 1
        self.order.append(spec.invocation_id)
        assert spec.key not in self.now, "it runs already"
        self.now.add(spec.key)
        self.most = max(self.most, len(self.now))
        self._ends[spec.key] = asyncio.get_running_loop().create_future()
        try:
            return await self._does(spec, spec.invocation_id.partition("-")[0])
        except asyncio.CancelledError:
            self.closed.append(spec.key)
            return Outcome(state=RunState.CANCELLED, events=3)
        finally:
            self.now.discard(spec.key)

    async def _does(self, spec: InvocationSpec, kind: str) -> Outcome:
        calls = self.calls[spec.key]
        if kind == "asks" and spec.key not in self.answered:
            await asyncio.sleep(0)
            return Outcome(state=RunState.PAUSED, events=2, waits_for=("call-1",))
        if kind == "waits":
            await self._ends[spec.key]
        if kind == "later" and calls < 3:
            raise PostponedError("the session is in use", 0.2)
        if kind == "breaks" and calls < 2:
            raise OSError("the key of the safe is under the mat")
        if kind == "fails" and spec.attempt == 1:
            return Outcome(state=RunState.FAILED, events=2, error="ZeroDivisionError")
        return Outcome(state=RunState.ENDED, events=4)

    async def close(self, spec: InvocationSpec) -> Outcome:
        self.closed.append(spec.key)
        return Outcome(state=RunState.CANCELLED, events=3)

    def release(self, key: str) -> None:
        end = self._ends.get(key)
        if end is not None and not end.done():
            end.set_exception(PostponedError("released"))

    def end(self, key: str) -> None:
        self._ends[key].set_result(None)
