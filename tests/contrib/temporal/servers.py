"""Temporal's development server, and workers for it whose work the tests write."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from newel.engines import InvocationSpec, Outcome, PostponedError, RunRecord, RunState
from newel_temporal import Address, TemporalEngine

#: How long a test waits for what must come, in seconds.
BOUND = 60.0
#: Queues in one part, so that priorities order all of it, and fairness between tenants. A history of more than 60
#: events is long.
_DYNAMIC = (
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
    "matching.enableFairness=true",
    "limit.historyCount.suggestContinueAsNew=60",
)


def program() -> str | None:
    """The path of Temporal's command line, which has a server."""
    beside = Path(sys.executable).with_name("temporal")
    return str(beside) if beside.exists() else shutil.which("temporal")


class Server:
    """A development server, which keeps its database when it is killed and started again."""

    def __init__(self, path: str, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._path = path
        self._folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def uri(self, **parameters: object) -> str:
        return f"temporal://127.0.0.1:{self.port}?{'&'.join(f'{name}={value}' for name, value in parameters.items())}"

    def engine(self, **parameters: object) -> TemporalEngine:
        return TemporalEngine(Address.of(self.uri(**parameters)))

    def start(self) -> None:
        if self.process is not None and self.process.poll() is None:
            return
        values = [one for value in _DYNAMIC for one in ("--dynamic-config-value", value)]
        place = ["--ip", "127.0.0.1", "--port", str(self.port), "--db-filename", str(self._folder / "temporal.db")]
        with (self._folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._path, "server", "start-dev", "--headless", "--log-level", "error", *values, *place],
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + BOUND
        while True:
            assert self.process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < end, "Temporal did not start in time"
            try:
                asyncio.run(self._asked())
                return
            except Exception:
                time.sleep(0.1)

    async def _asked(self) -> None:
        client = await self.engine(patience=2).client()
        async for _ in client.list_workflows("", limit=1):
            pass

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Scripted:
    """A work of the tests' own: what its script says is done with each run that a worker gets."""

    def __init__(self, script: Callable[[InvocationSpec], Awaitable[Outcome]]) -> None:
        self._script = script
        self._tasks: dict[str, asyncio.Task[Outcome]] = {}
        self._released: set[str] = set()
        #: The specs that it was called with.
        self.begun: list[InvocationSpec] = []
        self.cancelled: list[str] = []

    async def __call__(self, spec: InvocationSpec) -> Outcome:
        self.begun.append(spec)
        task = self._tasks[spec.key] = asyncio.create_task(_awaited(self._script(spec)))
        try:
            return await task
        except asyncio.CancelledError:
            if spec.key in self._released:
                raise PostponedError("released", 0.0) from None
            self.cancelled.append(spec.key)
            raise
        finally:
            self._tasks.pop(spec.key)

    async def close(self, spec: InvocationSpec) -> Outcome:
        self.cancelled.append(spec.key)
        return Outcome(state=RunState.CANCELLED)

    def release(self, key: str) -> None:
        self._released.add(key)
        self._tasks[key].cancel()


async def _awaited(awaitable: Awaitable[Outcome]) -> Outcome:
    return await awaitable


def ended(events: int = 3) -> Outcome:
    return Outcome(state=RunState.ENDED, events=events)


def a_spec(**fields: object) -> InvocationSpec:
    """A spec of an app of its own."""
    given = {"app_name": f"app{uuid4().hex[:10]}", "user_id": "ann", "session_id": "s", "invocation_id": "e-1"}
    return InvocationSpec.model_validate({**given, "message": {"parts": [{"text": "Hello"}]}, **fields})


@asynccontextmanager
async def working(
    engine: TemporalEngine, work: Scripted, *specs: InvocationSpec, concurrency: int = 10, name: str = ""
) -> AsyncIterator[object]:
    """A worker for the queues of these specs."""
    worker = engine.worker(work, [spec.queue for spec in specs], concurrency=concurrency, name=name)
    await worker.start()
    try:
        yield worker
    finally:
        await worker.drain(0)


async def until(engine: TemporalEngine, key: str, *states: RunState) -> RunRecord:
    """The run's record once it is in one of the states."""
    record = None
    try:
        async with asyncio.timeout(BOUND):
            while True:
                record = await engine.record(key)
                if record is not None and record.state in states:
                    return record
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"not {states}: {record}") from None
