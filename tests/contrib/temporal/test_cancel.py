"""Cancelling: a run that is queued, running, paused or ended."""

from __future__ import annotations

import asyncio

from tests.contrib.temporal.servers import BOUND, Scripted, Server, a_spec, ended, until, working

from newel.engines import OVER, InvocationSpec, Outcome, PostponedError, RunState
from newel.sessions import StoreUnavailableError


def test_a_run_that_no_worker_knows_of_is_cancelled_without_one(server: Server) -> None:
    async def main() -> None:
        engine, spec, work = server.engine(), a_spec(), Scripted(_endless)
        await engine.submit(spec)
        await engine.cancel(spec.key)
        record = await until(engine, spec.key, *OVER)
        assert record.state == RunState.CANCELLED
        assert record.attempts == 0
        async with working(engine, work, spec):
            await engine.cancel(spec.key)  # it has ended: nothing changes
            other = spec.model_copy(update={"invocation_id": "other"})
            await engine.submit(other)
            await until(engine, other.key, RunState.RUNNING)
            assert await engine.record(spec.key) == record
            assert [one.invocation_id for one in work.begun] == ["other"]

    asyncio.run(main())


def test_a_running_run_is_cancelled_at_its_worker_and_a_queued_one_behind_it_in_its_queue(server: Server) -> None:
    async def main() -> None:
        engine, running = server.engine(), a_spec(invocation_id="running")
        queued = running.model_copy(update={"invocation_id": "queued"})
        work = Scripted(_endless)
        async with working(engine, work, running, concurrency=1) as worker:
            await engine.submit(running)
            await until(engine, running.key, RunState.RUNNING)
            await engine.submit(queued)
            await engine.cancel(queued.key)
            assert (await until(engine, queued.key, *OVER)).state == RunState.CANCELLED
            assert work.cancelled == [queued.key]  # its open calls, if it had any
            assert list(worker.running) == [running.key]
            await engine.cancel(running.key)
            record = await until(engine, running.key, *OVER)
            assert (record.state, record.attempts) == (RunState.CANCELLED, 1)
            assert work.cancelled == [queued.key, running.key]

    asyncio.run(main())


def test_a_paused_run_is_ended_by_a_worker_that_closes_its_open_calls(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(), a_spec()

        async def script(spec: InvocationSpec) -> Outcome:
            if len(work.begun) == 1:
                return Outcome(state=RunState.PAUSED, events=2, waits_for=("call-1",))
            return await _endless(spec)

        work = Scripted(script)
        async with working(engine, work, spec):
            await engine.submit(spec)
            await until(engine, spec.key, RunState.PAUSED)
            await engine.cancel(spec.key)
            record = await until(engine, spec.key, *OVER)
        assert record.state == RunState.CANCELLED
        assert record.outcome == Outcome(state=RunState.CANCELLED, events=0)
        assert work.cancelled == [spec.key]
        assert len(work.begun) == 1  # it is not resumed for that

    asyncio.run(main())


def test_a_run_that_ends_while_it_is_cancelled_has_ended(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(), a_spec()

        async def script(spec: InvocationSpec) -> Outcome:
            try:
                return await _endless(spec)
            except asyncio.CancelledError:
                return ended(7)

        async with working(engine, Scripted(script), spec):
            await engine.submit(spec)
            await until(engine, spec.key, RunState.RUNNING)
            await engine.cancel(spec.key)
            record = await until(engine, spec.key, *OVER)
        assert record.outcome == ended(7)

    asyncio.run(main())


async def _endless(spec: InvocationSpec) -> Outcome:
    await asyncio.sleep(10 * BOUND)
    return ended()


def test_open_calls_get_their_results_once_the_store_is_there_again(server: Server) -> None:
    async def main() -> None:
        engine, spec, attempts = server.engine(), a_spec(seconds=3600), 0

        class Away(Scripted):
            async def close(self, spec: InvocationSpec) -> Outcome:
                nonlocal attempts
                attempts += 1
                if attempts < 3:
                    raise StoreUnavailableError("words of nobody's business")
                if attempts == 3:
                    raise PostponedError("this worker has no app", 0.1)
                return Outcome(state=RunState.CANCELLED, events=7)

        async with working(engine, Away(_paused), spec):
            await engine.submit(spec)
            await until(engine, spec.key, RunState.PAUSED)
            await engine.cancel(spec.key)
            said = set()
            async with asyncio.timeout(BOUND):
                while (record := await engine.record(spec.key)) is None or record.state not in OVER:
                    said |= {record.reason} if record is not None else set()
                    await asyncio.sleep(0.05)
        assert record.outcome == Outcome(state=RunState.CANCELLED, events=7)
        assert attempts == 4
        assert any(one.endswith("the one before failed: StoreUnavailableError") for one in said)

    asyncio.run(main())


async def _paused(spec: InvocationSpec) -> Outcome:
    return Outcome(state=RunState.PAUSED, events=2, waits_for=("call-1",))
