"""Workers: killed, drained, shared by several queues, idle; a Temporal that is away."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.contrib.temporal.servers import BOUND, Scripted, Server, a_spec, ended, until, working

from newel.engines import OVER, InvocationSpec, Outcome, RunState
from newel_kernel import NewelError
from newel_temporal.client import TemporalUnavailableError

ROOT = Path(__file__).resolve().parents[3]


class Process:
    """A worker in a process of its own."""

    def __init__(self, uri: str, name: str, folder: Path, *queues: str) -> None:
        command = [sys.executable, "-m", "tests.contrib.temporal.serve", uri, name, str(folder), *queues]
        self._process = subprocess.Popen(command, cwd=ROOT)
        end = time.monotonic() + BOUND
        while not (folder / f"ready-{name}").exists():
            assert self._process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)

    def end(self, number: int) -> None:
        self._process.send_signal(number)
        self._process.wait(BOUND)


def test_a_run_that_is_cancelled_while_its_worker_is_gone_is_closed_by_another(server: Server, tmp_path: Path) -> None:
    uri, spec = server.uri(lease=3), a_spec()
    (tmp_path / "hold-killed").touch()
    worker = Process(uri, "killed", tmp_path, spec.queue)

    async def main() -> None:
        engine, work = server.engine(lease=3), Scripted(_endless)
        await engine.submit(spec)
        await until(engine, spec.key, RunState.RUNNING)
        async with working(engine, work, spec, name="second"):
            worker.end(signal.SIGKILL)
            await engine.cancel(spec.key)
            record = await until(engine, spec.key, *OVER)
        assert (record.state, record.reason) == (RunState.CANCELLED, "cancelled")
        assert work.cancelled == [spec.key]

    asyncio.run(main())


def test_a_drained_worker_releases_its_runs_at_once(server: Server, tmp_path: Path) -> None:
    """With a lease of an hour: no heartbeat that is missed helps."""
    uri, spec = server.uri(lease=3600), a_spec()
    (tmp_path / "hold-first").touch()
    first = Process(uri, "first", tmp_path, spec.queue)

    async def main() -> None:
        engine, work = server.engine(lease=3600), Scripted(_at_once)
        await engine.submit(spec)
        await until(engine, spec.key, RunState.RUNNING)
        async with working(engine, work, spec, name="second"):
            await asyncio.to_thread(first.end, signal.SIGTERM)
            record = await until(engine, spec.key, *OVER)
        assert (record.state, record.worker) == (RunState.ENDED, "second")
        assert (tmp_path / "begun").read_text().split() == ["first", spec.key]
        assert not work.cancelled

    asyncio.run(main())


def test_one_worker_of_two_queues_has_as_many_runs_as_it_may(server: Server) -> None:
    async def main() -> None:
        engine, specs = server.engine(), [a_spec(), a_spec()]
        now, most = 0, 0

        async def script(spec: InvocationSpec) -> Outcome:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.05)
            now -= 1
            return ended()

        runs = [one.model_copy(update={"invocation_id": f"e-{at}"}) for at in range(4) for one in specs]
        async with working(engine, Scripted(script), *specs, concurrency=1):
            for one in runs:
                await engine.submit(one)
            for one in runs:
                assert (await until(engine, one.key, *OVER)).state == RunState.ENDED
        assert most == 1

    asyncio.run(main())


def test_temporal_goes_away_and_comes_back(server: Server) -> None:
    async def main() -> None:
        engine, spec, free = server.engine(patience=3), a_spec(), asyncio.Event()
        later = spec.model_copy(update={"invocation_id": "later"})

        async def script(spec: InvocationSpec) -> Outcome:
            await free.wait()
            return ended()

        work = Scripted(script)
        async with working(engine, work, spec):
            await engine.submit(spec)
            await until(engine, spec.key, RunState.RUNNING)
            server.stop()
            try:
                began = time.monotonic()
                with pytest.raises(TemporalUnavailableError, match="within 3 s"):
                    await engine.submit(later)
                assert time.monotonic() - began < BOUND / 2
                with pytest.raises(NewelError, match="cannot be reached: nothing listens there; check") as caught:
                    await server.engine(patience=3).submit(later)
                assert f"127.0.0.1:{server.port}" in str(caught.value)
                assert "tonic" not in str(caught.value)
                free.set()  # its run ends while Temporal is away
            finally:
                await asyncio.to_thread(server.start)
            assert (await _answered(engine, later)).state in (RunState.QUEUED, RunState.RUNNING, RunState.ENDED)
            for one in (spec, later):
                assert (await until(engine, one.key, *OVER)).state == RunState.ENDED
        assert sorted(one.key for one in work.begun) == sorted((spec.key, later.key))

    asyncio.run(main())


async def _answered(engine: object, spec: InvocationSpec) -> object:
    """The record of a submission, which is said again as long as Temporal does not answer."""
    async with asyncio.timeout(BOUND):
        while True:
            with suppress(TemporalUnavailableError):
                return await engine.submit(spec)
            await asyncio.sleep(0.1)


def test_an_idle_worker_costs_next_to_nothing(server: Server) -> None:
    """Less than a hundredth of a core; three times that is allowed here, on a machine that does other work."""

    async def main() -> None:
        gc.collect()  # the connections of other tests
        await asyncio.sleep(0.2)
        others = _connections(server.port)
        engine = server.engine()
        async with working(engine, Scripted(_at_once), a_spec(), a_spec()):
            await asyncio.sleep(1)
            assert 1 <= _connections(server.port) - others <= 2
            before = time.process_time()
            await asyncio.sleep(3)
            assert time.process_time() - before < 0.03 * 3

    asyncio.run(main())


def _connections(port: int) -> int:
    """How many established connections this process has to a port of this machine."""
    own = {os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.exists() or one.is_symlink()}
    lines = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()]
    return sum(one[2].endswith(f":{port:04X}") and one[3] == "01" and f"socket:[{one[9]}]" in own for one in lines[1:])


async def _endless(spec: InvocationSpec) -> Outcome:
    await asyncio.sleep(10 * BOUND)
    return ended()


async def _at_once(spec: InvocationSpec) -> Outcome:
    return ended()
