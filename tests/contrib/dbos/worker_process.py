"""A worker in a process of its own: ``python -m tests.contrib.dbos.worker_process URI QUEUE CONCURRENCY SECONDS``.

Each of its runs takes SECONDS, and notes in the table `notes` that it has begun and ended. One whose name begins with
"blocks" keeps the event loop meanwhile. It drains on SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time

import psycopg

from newel.engines import InvocationSpec, Outcome, PostponedError, RunState
from newel_dbos import DbosEngine


class Noting:
    """Work that takes a while, and keeps its journal in a table as a session's log does."""

    def __init__(self, connection: psycopg.AsyncConnection[object], seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self._released: dict[str, asyncio.Event] = {}

    async def __call__(self, spec: InvocationSpec) -> Outcome:
        released = self._released[spec.key] = asyncio.Event()
        if await self._ended(spec.key):
            return Outcome(state=RunState.ENDED, events=2)
        await self._note(spec.key, "begun")
        try:
            if spec.invocation_id.startswith("blocks"):
                time.sleep(self._seconds)  # as a tool that does not await
                raise TimeoutError
            await asyncio.wait_for(released.wait(), self._seconds)
        except TimeoutError:
            await self._note(spec.key, "ended")
            return Outcome(state=RunState.ENDED, events=2)
        await self._note(spec.key, "released")
        raise PostponedError("released")

    async def _ended(self, key: str) -> bool:
        statement = "SELECT 1 FROM notes WHERE key = %s AND what = 'ended'"
        return await (await self._connection.execute(statement, (key,))).fetchone() is not None

    async def _note(self, key: str, what: str) -> None:
        statement = "INSERT INTO notes (key, what, pid) VALUES (%s, %s, %s)"
        await self._connection.execute(statement, (key, what, os.getpid()))

    async def close(self, spec: InvocationSpec) -> Outcome:
        return Outcome(state=RunState.CANCELLED)

    def release(self, key: str) -> None:
        self._released[key].set()


async def main(uri: str, queue: str, concurrency: int, seconds: float) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    url = uri.replace("dbos://", "postgresql://").partition("?")[0]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        engine = DbosEngine(uri)
        worker = engine.worker(Noting(connection, seconds), [queue], concurrency=concurrency)
        await worker.start()
        print("ready", flush=True)
        await stopped.wait()
        await worker.drain(0)
        await engine.close()
        print("drained", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
