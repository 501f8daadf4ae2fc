"""Workers of DbosEngine in processes of their own, which are killed and stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from tests.contrib.dbos.working import spec_of, until

from newel.engines import RunState, queue_name
from newel_dbos import DbosEngine
from newel_dbos.access import access_of

ROOT = Path(__file__).resolve().parents[3]


class Workers:
    """Processes, and the notes of the runs in them."""

    def __init__(self, uri: str, stack: ExitStack) -> None:
        self.uri = uri
        self._stack = stack
        with psycopg.connect(access_of(uri).url) as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS notes (number serial, key text, what text, pid int, at timestamptz "
                "DEFAULT clock_timestamp())"
            )

    def start(self, app: str, concurrency: int, seconds: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.contrib.dbos.worker_process", self.uri, queue_name(app)]
        worker = subprocess.Popen(
            [*command, str(concurrency), str(seconds)], cwd=ROOT, text=True, stdout=subprocess.PIPE
        )
        self._stack.callback(self._gone, worker)
        return worker

    def ready(self, worker: subprocess.Popen[str]) -> None:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"

    def _gone(self, worker: subprocess.Popen[str]) -> None:
        worker.kill()
        worker.wait()
        assert worker.stdout is not None
        worker.stdout.close()

    def notes(self, app: str) -> list[tuple[str, str, int]]:
        with psycopg.connect(access_of(self.uri).url) as connection:
            found = connection.execute(
                "SELECT key, what, pid FROM notes WHERE key LIKE %s ORDER BY number", (f"{app}:%",)
            )
            return found.fetchall()  # type: ignore[return-value]


@pytest.fixture
def workers(uri: str) -> Iterator[Workers]:
    with ExitStack() as stack:
        yield Workers(uri, stack)


def test_the_runs_of_a_worker_that_is_killed_are_resumed_by_one_of_the_others(workers: Workers) -> None:
    async def main() -> None:
        engine = DbosEngine(workers.uri)
        first = workers.start("killed", 4, 60.0)
        workers.ready(first)
        for number in range(3):
            await engine.submit(spec_of("killed", f"run-{number}"))
        for number in range(3):
            await until(engine, f"killed:run-{number}", RunState.RUNNING)
        others = [workers.start("killed", 4, 0.2) for _ in range(2)]
        for other in others:
            workers.ready(other)
        first.kill()
        for number in range(3):
            record = await until(engine, f"killed:run-{number}", RunState.ENDED)
            assert record.attempts == 2
        notes = workers.notes("killed")
        for number in range(3):
            own = [(what, pid == first.pid) for key, what, pid in notes if key == f"killed:run-{number}"]
            assert own == [("begun", True), ("begun", False), ("ended", False)]
        await engine.close()

    asyncio.run(main())


def test_a_run_that_blocks_its_loop_for_longer_than_a_heartbeat_stays_where_it_is(workers: Workers) -> None:
    async def main() -> None:
        engine = DbosEngine(workers.uri)
        both = [workers.start("blocked", 2, 8.0) for _ in range(2)]
        for one in both:
            workers.ready(one)
        await engine.submit(spec_of("blocked", "blocks-1"))
        record = await until(engine, "blocked:blocks-1", RunState.ENDED)
        assert record.attempts == 1
        assert [what for _, what, _ in workers.notes("blocked")] == ["begun", "ended"]
        await engine.close()

    asyncio.run(main())


def test_a_worker_that_was_frozen_and_wakes_up_again_lets_its_runs_go(workers: Workers) -> None:
    async def main() -> None:
        engine = DbosEngine(workers.uri)
        first = workers.start("frozen", 2, 60.0)
        workers.ready(first)
        await engine.submit(spec_of("frozen", "run-1"))
        await until(engine, "frozen:run-1", RunState.RUNNING)
        other = workers.start("frozen", 2, 8.0)
        workers.ready(other)
        os.kill(first.pid, signal.SIGSTOP)
        while len(workers.notes("frozen")) < 2:
            await asyncio.sleep(0.1)
        os.kill(first.pid, signal.SIGCONT)
        await until(engine, "frozen:run-1", RunState.ENDED)
        while len(workers.notes("frozen")) < 4:
            await asyncio.sleep(0.1)
        own = {(what, pid) for _, what, pid in workers.notes("frozen")}
        assert own == {("begun", first.pid), ("begun", other.pid), ("released", first.pid), ("ended", other.pid)}
        await engine.close()

    asyncio.run(asyncio.wait_for(main(), 90))


def test_workers_that_are_stopped_lose_nothing(workers: Workers) -> None:
    async def main() -> None:
        engine = DbosEngine(workers.uri)
        first = workers.start("stopped", 3, 60.0)
        workers.ready(first)
        for number in range(6):
            await engine.submit(spec_of("stopped", f"run-{number}"))
        while len(workers.notes("stopped")) < 3:
            await asyncio.sleep(0.05)
        first.terminate()
        assert first.wait(60) == 0
        assert {record.state for record in await engine.records(app_name="stopped")} == {RunState.QUEUED}
        second = workers.start("stopped", 6, 0.1)
        workers.ready(second)
        for number in range(6):
            await until(engine, f"stopped:run-{number}", RunState.ENDED)
        ends = [key for key, what, _ in workers.notes("stopped") if what == "ended"]
        assert sorted(ends) == [f"stopped:run-{number}" for number in range(6)]
        await engine.close()

    asyncio.run(main())
