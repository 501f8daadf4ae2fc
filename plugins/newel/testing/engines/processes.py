"""The checks with a worker in a process of its own, which is killed, or stopped and left behind."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.process import BaseProcess

from newel.engines import RunState
from newel.testing.engines.clerk import make_file, noted
from newel.testing.engines.place import EnginePlace, MakeEngine, MakeSessions, answers, open_calls, state, until_file
from newel.testing.sessions.place import same
from newel_kernel import seam

#: How long a worker that awakes is watched, in seconds.
_AWAKE_SECONDS = 3.0
_POLL_SECONDS = 0.05


def _serve(make: MakeEngine, sessions: MakeSessions, app: str) -> None:
    asyncio.run(_take_runs(make, sessions, app))


async def _take_runs(make: MakeEngine, sessions: MakeSessions, app: str) -> None:
    await EnginePlace(make, sessions, app).worker()
    await asyncio.Event().wait()


@asynccontextmanager
async def _elsewhere(place: EnginePlace) -> AsyncIterator[BaseProcess]:
    """A worker in another process, which is killed at the end."""
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(place.make, place.sessions, place.app))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _has_died(process: BaseProcess, file: str) -> bool:
    assert process.is_alive(), f"the worker's process ended with {process.exitcode}"
    return bool(noted(f"{file}.begun"))


async def a_killed_workers_run_is_taken_over(place: EnginePlace) -> None:
    """By any other worker, without being asked; it goes on where it was."""
    file = place.file()
    async with _elsewhere(place) as process:
        run = await place.submit(f"hang {file}")
        await until_file(lambda: _has_died(process, file), "the worker has not begun the run")
        process.kill()
        process.join()
        await place.worker()
        await until_file(lambda: len(noted(f"{file}.begun")) > 1, "no other worker has taken the run")
        make_file(file)
        await state(run, RunState.ENDED)
    events = await place.events(run)
    same((answers(events), sum(event.author == "user" for event in events), open_calls(events)), (1, 1, set()))
    same(noted(f"{file}.begun")[1], str(os.getpid()))


async def a_stopped_worker_that_awakes_does_nothing(place: EnginePlace) -> None:
    """Its run is another worker's by then."""
    file = place.file()
    async with _elsewhere(place) as process:
        run = await place.submit(f"hang {file}")
        await until_file(lambda: _has_died(process, file), "the worker has not begun the run")
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        await place.worker()
        await until_file(lambda: len(noted(f"{file}.begun")) > 1, "no other worker has taken the run")
        make_file(file)
        await state(run, RunState.ENDED)
        before = await place.events(run)
        os.kill(process.pid, signal.SIGCONT)
        await _awakes(file)
        other = await place.submit("hello")  # whoever takes it: both are alive
        await state(other, RunState.ENDED)
        same([event.id for event in await place.events(run)], [event.id for event in before])
    same(answers(before), 1)


async def _awakes(file: str) -> None:
    """Let the stopped worker go on for a while; its engine may have ended its run before its tool ends."""
    end = seam.monotonic() + _AWAKE_SECONDS
    while len(noted(f"{file}.ended")) < 2 and seam.monotonic() < end:  # noqa: ASYNC110 - another process notes it
        await asyncio.sleep(_POLL_SECONDS)


PROCESS_CHECKS = {
    check.__name__: check for check in (a_killed_workers_run_is_taken_over, a_stopped_worker_that_awakes_does_nothing)
}
