"""What newel-dbos costs beside DBOS alone, and whether it loses runs: run by hand, against PostgreSQL at 127.0.0.1.

``python -m tests.benchmarks.dbos_runs overhead`` submits 50 runs each, in turn, to the engine and to DBOS alone (an
empty workflow), and prints the medians from submission to start and to the recorded end. ``idle`` prints what a worker
without work takes. ``follow [POLL]`` submits 50 runs of an agent, in turn with empty workflows of DBOS alone, and
prints the medians from submission to the first event at a follower, and to the start of the workflow. ``kills [RUNS]``
has 4 workers do RUNS (500) runs while one of them is killed every 3 s.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from statistics import median

import psycopg
from dbos import DBOS, DBOSClient
from tests.contrib.dbos.test_dbos_processes import Workers
from tests.contrib.dbos.working import spec_of

from newel.agents import LlmAgent
from newel.apps import App
from newel.engines import AgentWork, InvocationSpec, Outcome, RunState, queue_name
from newel.models import BaseLlm
from newel.runners import Runner
from newel_dbos import DbosEngine
from newel_dbos.book import APPLICATION, VERSION
from newel_dbos.hub import Hub
from newel_kernel import LlmRequest, LlmResponse
from newel_postgres import PostgresSessionService
from newel_types import Content, Part

HOST = os.environ.get("PGHOST", "127.0.0.1")
NAME = "newel_dbos_runs"
ALONE = "alone"
_started: dict[str, float] = {}


def _uri(**parameters: float) -> str:
    given = "&".join(f"{name}={value}" for name, value in parameters.items())
    return f"dbos://postgres@{HOST}/{NAME}?{given}"


def _fresh() -> None:
    with psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {NAME}")


@DBOS.workflow(name="empty")
async def _empty(key: str) -> None:
    _started[key] = time.perf_counter()


class _Empty:
    async def __call__(self, spec: InvocationSpec) -> Outcome:
        _started[spec.key] = time.perf_counter()
        return Outcome(state=RunState.ENDED)

    async def close(self, spec: InvocationSpec) -> Outcome:
        raise NotImplementedError

    def release(self, key: str) -> None:
        pass


async def _of_engine(engine: DbosEngine, number: int) -> tuple[float, float]:
    began = time.perf_counter()
    key = (await engine.submit(spec_of("measured", f"run-{number}"))).spec.key
    with psycopg.connect(host=HOST, user="postgres", dbname=NAME, autocommit=True) as connection:
        await _ended(connection, "SELECT state = 'ended' FROM newel_dbos.newel_runs WHERE key = %s", key)
    return _started[key] - began, time.perf_counter() - began


async def _of_dbos(client: DBOSClient, number: int) -> tuple[float, float]:
    began, key = time.perf_counter(), f"alone-{number}"
    await client.enqueue_async(
        {"workflow_name": "empty", "workflow_id": key, "queue_name": ALONE, "app_version": VERSION,
         "queue_partition_key": "-"},
        key,
    )  # fmt: skip
    with psycopg.connect(host=HOST, user="postgres", dbname=NAME, autocommit=True) as connection:
        statement = "SELECT status = 'SUCCESS' FROM newel_dbos.workflow_status WHERE workflow_uuid = %s"
        await _ended(connection, statement, key)
    return _started[key] - began, time.perf_counter() - began


async def _ended(connection: psycopg.Connection[tuple[bool]], statement: str, key: str) -> None:
    while True:
        row = connection.execute(statement, (key,)).fetchone()  # type: ignore[arg-type]
        if row is not None and row[0]:
            return
        await asyncio.sleep(0.002)


async def overhead(poll: float) -> None:
    """Medians over 50 of each."""
    engine = DbosEngine(_uri(poll=poll))
    # Its queue is one of the worker's, so that one DBOS has both, polled alike.
    worker = engine.worker(_Empty(), [queue_name("measured"), ALONE])
    await worker.start()
    hub = Hub.current
    assert hub is not None
    client = DBOSClient(
        system_database_engine=hub.book.engine, dbos_system_schema="newel_dbos", application_name=APPLICATION
    )
    pairs: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for number in range(52):
        await asyncio.sleep(random.random() * poll)  # at any time between two polls
        of_engine = await _of_engine(engine, number)
        await asyncio.sleep(random.random() * poll)
        pairs.append((of_engine, await _of_dbos(client, number)))
    for name, values in zip(("newel-dbos", "DBOS alone"), zip(*pairs[2:], strict=True), strict=True):
        starts, totals = zip(*values, strict=True)
        print(f"{name:12} start {median(starts) * 1000:7.1f} ms   total {median(totals) * 1000:7.1f} ms")
    await worker.drain(0)
    await engine.close()
    client.destroy()


class _Ready(BaseLlm):
    """Answers at once."""

    model: str = "ready"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=Content(role="model", parts=[Part(text="done")]))


async def follow(poll: float) -> None:
    """Medians over 50 of each: a follower in the submitter, the worker in the same process, all through PostgreSQL."""
    engine = DbosEngine(_uri(poll=poll))
    store = PostgresSessionService(f"postgresql://postgres@{HOST}/{NAME}")
    app = App(name="measured", root_agent=LlmAgent(name="clerk", model=_Ready()))
    runner = Runner(app=app, session_service=store, engine=engine, auto_create_session=True)
    work = AgentWork([runner])
    worker = engine.worker(work, [*work.queues, ALONE])
    await worker.start()
    hub = Hub.current
    assert hub is not None
    client = DBOSClient(
        system_database_engine=hub.book.engine, dbos_system_schema="newel_dbos", application_name=APPLICATION
    )
    seconds: dict[str, list[float]] = {"first event": [], "next event": [], "DBOS alone": []}
    for number in range(52):
        await asyncio.sleep(random.random() * poll)  # at any time between two polls
        began = time.perf_counter()
        run = await runner.submit(user_id="ada", session_id=f"s-{number}", new_message="tea")
        async with aclosing(run.follow()) as events:
            async for _ in events:
                seconds["first event" if len(seconds["first event"]) == number else "next event"].append(
                    time.perf_counter() - began
                )
        await asyncio.sleep(random.random() * poll)
        seconds["DBOS alone"].append((await _of_dbos(client, number))[0])
    for name, values in seconds.items():
        print(f"{name:12} p50 {median(values[2:]) * 1000:7.1f} ms")
    await worker.drain(0)
    await runner.close()
    await engine.close()
    await store.close()
    client.destroy()


async def idle() -> None:
    """CPU and connections of a worker without work, over 30 s."""
    engine = DbosEngine(_uri())
    worker = engine.worker(_Empty(), [queue_name("idle")])
    await worker.start()
    await asyncio.sleep(3)
    began, used = time.perf_counter(), time.process_time()
    await asyncio.sleep(30)
    share = (time.process_time() - used) / (time.perf_counter() - began)
    with psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", (NAME,)).fetchone()
    print(f"{share:.2%} of a core, {row[0] if row else 0} connections")
    await worker.drain(0)
    await engine.close()


async def kills(runs: int) -> None:
    """Each of the runs has to end once."""
    uri = _uri(heartbeat=3, poll=0.2)
    engine = DbosEngine(uri)
    await engine.submit(spec_of("first", "run"))
    with ExitStack() as stack:
        workers = Workers(uri, stack)
        processes = [workers.start("many", 5, 0.5) for _ in range(4)]
        for process in processes:
            workers.ready(process)
        began = time.perf_counter()
        await asyncio.gather(*(engine.submit(spec_of("many", f"run-{number}")) for number in range(runs)))
        killed, left = 0, runs
        while left:
            await asyncio.sleep(3)
            states = Counter(record.state for record in await engine.records(app_name="many", most=runs))
            left = runs - states[RunState.ENDED]
            print(f"{time.perf_counter() - began:5.0f} s", dict(states), flush=True)
            if left:
                oldest = processes.pop(0)
                oldest.kill()
                killed += 1
                processes.append(workers.start("many", 5, 0.5))
        seconds = time.perf_counter() - began
        notes = Counter((key, what) for key, what, _ in workers.notes("many"))
        ends = [count for (_, what), count in notes.items() if what == "ended"]
        begins = [count for (_, what), count in notes.items() if what == "begun"]
        records = await engine.records(app_name="many", most=runs)
        twice, again = sum(ends) - len(ends), sum(begins) - runs
        most = max(record.attempts for record in records)
        print(f"{runs} runs, {killed} kills, {seconds:.0f} s: {len(ends)} ended, {twice} of them twice")
        print(f"{again} begun again, most attempts {most}")
    await engine.close()


def main() -> None:
    _fresh()
    command, *rest = sys.argv[1:]
    if command == "overhead":
        asyncio.run(overhead(float(rest[0]) if rest else 1.0))
    elif command == "follow":
        asyncio.run(follow(float(rest[0]) if rest else 1.0))
    elif command == "idle":
        asyncio.run(idle())
    else:
        asyncio.run(kills(int(rest[0]) if rest else 500))


if __name__ == "__main__":
    main()
