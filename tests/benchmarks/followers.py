"""What followers of runs cost and how soon they know: run by hand, against PostgreSQL at 127.0.0.1.

``python -m tests.benchmarks.followers inline`` prints the medians from the submission of a run to its first event, and
to its end, at a follower over the inline engine, with sessions in memory and in PostgreSQL. ``late`` prints those from
an append in another process to the follower of a session that was quiet for 10 s. ``idle [N]`` prints what N (200)
followers of runs that do nothing take of a core, and the server's share. ``appends`` prints the appends per second of 8
processes, by turns with nobody following and with all sessions followed, and the medians of 6 turns of each.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import time
from contextlib import AsyncExitStack, aclosing
from statistics import median
from typing import Any

import psycopg

from newel.agents import LlmAgent
from newel.apps import App
from newel.engines import RunRecord, RunState
from newel.engines.following import follow
from newel.models import BaseLlm
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_kernel import Event, LlmRequest, LlmResponse
from newel_postgres import PostgresSessionService
from newel_types import Content, Part

HOST = os.environ.get("PGHOST", "127.0.0.1")
NAME = "newel_followers"
URL = f"postgresql://postgres@{HOST}/{NAME}"
WHERE: dict[str, Any] = {"app_name": "measured", "user_id": "ada"}
PROCESSES, SECONDS = 8, 4.0


def _fresh() -> None:
    with psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {NAME}")


def _event(text: str) -> Event:
    return Event(author="user", invocation_id="i", content=Content(parts=[Part(text=text)]))


class _Ready(BaseLlm):
    model: str = "ready"

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        yield LlmResponse(content=Content(role="model", parts=[Part(text="here it is")]))


async def inline() -> None:
    """Medians over 50 runs each, the worker in the same process."""
    for kind, store in (("memory", InMemorySessionService()), ("PostgreSQL", PostgresSessionService(URL))):
        app = App(name="measured", root_agent=LlmAgent(name="clerk", model=_Ready()))
        runner = Runner(app=app, session_service=store, auto_create_session=True)
        first, last = [], []
        for number in range(52):
            began = time.perf_counter()
            run = await runner.submit(user_id="ada", session_id=f"s-{number}", new_message="tea")
            times = []
            async with aclosing(run.follow()) as events:
                async for _ in events:
                    times.append(time.perf_counter() - began)
            first.append(times[0])
            last.append(time.perf_counter() - began)
        print(
            f"{kind:12} first event p50 {median(first[2:]) * 1000:6.1f} ms, end p50 {median(last[2:]) * 1000:6.1f} ms"
        )
        await runner.close()
        await store.close()


async def _append_late(session: str, pauses: int) -> None:
    async with PostgresSessionService(URL) as store:
        for _ in range(pauses):
            await asyncio.sleep(10)
            view = await store.open(**WHERE, session_id=session)
            text = str(time.time())
            await store.append_event(view, _event(text))


class _Forever:
    """What a follower asks of an engine: the run goes on."""

    async def record(self, key: str) -> Any:
        spec: Any = None
        return RunRecord(spec=spec, state=RunState.RUNNING)


async def late() -> None:
    """Median over 8 appends of another process."""
    async with PostgresSessionService(URL) as store:
        await store.create_session(**WHERE, session_id="s")
        process = multiprocessing.get_context("spawn").Process(target=_run, args=(_append_late, "s", 8))
        process.start()
        seconds: list[float] = []
        async with aclosing(follow(store, _Forever(), {**WHERE, "session_id": "s"}, "i")) as events:  # type: ignore[arg-type]
            async for _, event in events:
                seconds.append(time.time() - float(event.text))
                if len(seconds) == 8:
                    break
        process.join()
        print(f"append to follower p50 {median(seconds) * 1000:.1f} ms, longest {max(seconds) * 1000:.1f} ms")


async def idle(count: int = 200) -> None:
    """CPU of this process, and statements, over 30 s, after 40 s."""
    async with PostgresSessionService(URL) as store:
        for number in range(count):
            await store.create_session(**WHERE, session_id=f"s-{number}")

        async def one(number: int) -> None:
            async with aclosing(follow(store, _Forever(), {**WHERE, "session_id": f"s-{number}"}, "i")) as events:  # type: ignore[arg-type]
                async for _ in events:
                    pass

        tasks = [asyncio.create_task(one(number)) for number in range(count)]
        await asyncio.sleep(40)
        with psycopg.connect(URL, autocommit=True) as server:
            count_of = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
            before, cpu = server.execute(count_of).fetchall()[0][0], time.process_time()
            await asyncio.sleep(30)
            used = (time.process_time() - cpu) / 30
            commits = (server.execute(count_of).fetchall()[0][0] - before) / 30
            connections = server.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchall()[0][0]
        print(f"{count} followers: {used:.1%} of a core, {commits:.0f} transactions/s, {connections} connections")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _append_much(orders: Any, counts: Any) -> None:
    """Append for a while each time that a session is ordered; None ends it."""
    async with PostgresSessionService(URL) as store:
        while (session := await asyncio.to_thread(orders.get)) is not None:
            view = await store.open(**WHERE, session_id=session)
            body, count, ends = "x" * 1000, 0, time.monotonic() + SECONDS
            while time.monotonic() < ends:
                await store.append_event(view, _event(body))
                count += 1
            counts.put(count)


async def appends(turns: int = 6) -> None:
    """Appends per second of 8 processes, each to a session of its own; the processes are the same in all turns."""
    context = multiprocessing.get_context("spawn")
    orders: Any = context.Queue()
    counts: Any = context.Queue()
    workers = [context.Process(target=_run, args=(_append_much, orders, counts)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    found: dict[bool, list[float]] = {False: [], True: []}
    async with PostgresSessionService(URL) as store:
        for followed in (False, True) * turns:
            names = [f"{time.time()}-{number}" for number in range(PROCESSES)]
            for name in names:
                await store.create_session(**WHERE, session_id=name)
            async with AsyncExitStack() as stack:
                if followed:
                    for name in names:
                        await stack.enter_async_context(store.watch(**WHERE, session_id=name))
                for name in names:
                    orders.put(name)
                total = sum([await asyncio.to_thread(counts.get) for _ in workers])
            found[followed].append(total / SECONDS)
            print(f"{'followed' if followed else 'alone':9} {total / SECONDS:7.0f} appends/s", flush=True)
    for _ in workers:
        orders.put(None)
    for worker in workers:
        worker.join()
    alone, followed_ = (median(found[one]) for one in (False, True))
    pairs = sorted(one / other for one, other in zip(found[True], found[False], strict=True))
    print(f"alone {alone:.0f}, followed {followed_:.0f} appends/s (medians); ratio by turns {median(pairs):.2f}")


def _run(work: Any, *arguments: Any) -> None:
    asyncio.run(work(*arguments))


if __name__ == "__main__":
    _fresh()
    asyncio.run(
        {"inline": inline, "late": late, "idle": idle, "appends": appends}[sys.argv[1]](*map(int, sys.argv[2:]))
    )
