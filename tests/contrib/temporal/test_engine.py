"""Runs over a real Temporal: submitted once, paused, postponed, cancelled, retried; what their records say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest
from tests.contrib.temporal.servers import BOUND, Scripted, Server, a_spec, ended, until, working

from newel.engines import OVER, InvocationSpec, Outcome, PostponedError, RunState
from newel_kernel import ConfigurationError
from newel_temporal import TemporalEngine


def test_a_paused_run_frees_its_worker_until_an_answer_is_stored(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(), a_spec(invocation_id="paused")
        other = spec.model_copy(update={"invocation_id": "other"})
        answered = asyncio.Event()

        async def script(spec: InvocationSpec) -> Outcome:
            if spec.invocation_id == "other" or answered.is_set():
                return ended()
            return Outcome(state=RunState.PAUSED, events=2, waits_for=("call-1",))

        work = Scripted(script)
        async with working(engine, work, spec, concurrency=1) as worker:
            await engine.submit(spec)
            record = await until(engine, spec.key, RunState.PAUSED)
            assert record.outcome == Outcome(state=RunState.PAUSED, events=2, waits_for=("call-1",))
            assert "call-1" in record.reason
            assert not worker.running
            await engine.submit(other)
            await until(engine, other.key, RunState.ENDED)
            assert [one.spec.key for one in await engine.records(app_name=spec.app_name, state=RunState.PAUSED)] == [
                spec.key
            ]
            answered.set()
            await engine.signal(spec.key)
            record = await until(engine, spec.key, *OVER)
            await engine.signal(spec.key)  # nothing waits for it
        assert (record.state, record.attempts) == (RunState.ENDED, 2)
        assert [one.message for one in work.begun if one.invocation_id == "paused"] == [spec.message, None]

    asyncio.run(main())


def test_an_answer_that_is_stored_before_the_pause_is_known_resumes_the_run(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(), a_spec()
        asked, answered = asyncio.Event(), asyncio.Event()

        async def script(spec: InvocationSpec) -> Outcome:
            if answered.is_set():
                return ended()
            asked.set()
            await answered.wait()
            return Outcome(state=RunState.PAUSED, waits_for=("call-1",))

        async with working(engine, Scripted(script), spec):
            await engine.submit(spec)
            await asyncio.wait_for(asked.wait(), BOUND)
            await engine.signal(spec.key)
            answered.set()
            assert (await until(engine, spec.key, *OVER)).state == RunState.ENDED

    asyncio.run(main())


def test_why_a_postponed_run_waits(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(), a_spec()

        async def script(spec: InvocationSpec) -> Outcome:
            raise PostponedError("the session is busy", 3600)

        async with working(engine, Scripted(script), spec):
            await engine.submit(spec)
            async with asyncio.timeout(BOUND):
                while (record := await engine.record(spec.key)) is None or "busy" not in record.reason:
                    await asyncio.sleep(0.02)
            assert record.state == RunState.QUEUED
            await engine.cancel(spec.key)
            assert (await until(engine, spec.key, *OVER)).state == RunState.CANCELLED

    asyncio.run(main())


def test_a_run_that_comes_to_no_outcome_fails_at_last_and_can_be_retried(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(attempts=2), a_spec()

        async def script(spec: InvocationSpec) -> Outcome:
            if spec.attempt == 1:
                raise ConnectionError("the store is away")
            return ended()

        work = Scripted(script)
        async with working(engine, work, spec):
            await engine.submit(spec)
            failed = await until(engine, spec.key, *OVER)
            await engine.retry(spec.key)
            record = await until(engine, spec.key, RunState.ENDED)
            await engine.retry(spec.key)  # it has come to its own end
            assert await engine.record(spec.key) == record
        assert (failed.state, failed.attempts) == (RunState.FAILED, 2)
        assert failed.outcome is not None
        assert failed.outcome.error == "ConnectionError"
        assert (record.attempts, record.spec) == (3, spec.model_copy(update={"attempt": 2}))

    asyncio.run(main())


def test_a_run_without_a_worker_that_fits_says_so_and_ends_as_misfit(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(misfit=3), a_spec(version="2", lock="0123456789abcdef")
        older = spec.model_copy(update={"version": "1"})
        work = Scripted(_at_once)
        await engine.submit(spec)
        async with working(engine, work, older):
            async with asyncio.timeout(BOUND):
                while "'2'" not in (record := await _of(engine, spec)).reason:
                    await asyncio.sleep(0.02)
            assert record.state == RunState.QUEUED
            assert spec.app_name in record.reason
            record = await until(engine, spec.key, *OVER)
        assert (record.state, record.attempts, work.begun) == (RunState.MISFIT, 0, [])
        assert [one.state for one in await engine.records(app_name=spec.app_name)] == [RunState.MISFIT]
        async with working(engine, work, spec):
            await engine.retry(spec.key)
            assert (await until(engine, spec.key, RunState.ENDED)).spec.attempt == 2

    asyncio.run(main())


def test_the_deadline_of_a_run_ends_it_wherever_it_is(server: Server) -> None:
    async def main() -> None:
        engine = server.engine()
        running = a_spec(invocation_id="running", seconds=1.5)
        paused = running.model_copy(update={"invocation_id": "paused"})

        async def script(spec: InvocationSpec) -> Outcome:
            if spec.invocation_id == "running":
                await asyncio.sleep(3600)
            return Outcome(state=RunState.PAUSED, waits_for=("call-1",))

        work = Scripted(script)
        async with working(engine, work, running):
            for spec in (running, paused):
                await engine.submit(spec)
            for spec in (running, paused):
                record = await until(engine, spec.key, *OVER)
                assert (record.state, record.reason) == (RunState.FAILED, "it took longer than 1.5 s")
                assert record.outcome is not None
                assert record.outcome.error == "TimeoutError"
        assert sorted(work.cancelled) == sorted([running.key, paused.key])

    asyncio.run(main())


def test_records_are_the_newest_first_by_app_and_state(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(), a_spec()
        specs = [spec.model_copy(update={"invocation_id": f"e-{at}"}) for at in range(20)]
        stranger = a_spec(app_name=f"{spec.app_name}:x")

        async def script(spec: InvocationSpec) -> Outcome:
            if spec.invocation_id == "e-0":
                return Outcome(state=RunState.FAILED, error="ValueError")
            return ended()

        async with working(engine, Scripted(script), spec):
            for one in specs[:3]:
                await engine.submit(one)
            await engine.submit(stranger)
            for one in specs[:3]:
                await until(engine, one.key, *OVER)
        for one in specs[3:]:
            await engine.submit(one)

        def asked(**which: object) -> Awaitable[list[str]]:
            return _ids(engine, app_name=spec.app_name, **which)

        newest = [one.invocation_id for one in reversed(specs)]
        async with asyncio.timeout(BOUND):
            while await asked() != newest:  # Temporal's lists follow a little later
                await asyncio.sleep(0.05)
        assert await asked(most=18) == newest[:18]
        assert await asked(state=RunState.QUEUED) == newest[:17]
        assert await asked(state=RunState.ENDED) == ["e-2", "e-1"]
        assert await asked(state=RunState.FAILED) == ["e-0"]
        assert await _ids(engine, app_name="it's") == []

    asyncio.run(main())


def test_a_schedule_of_temporals_starts_runs_with_ids_of_their_own(server: Server) -> None:
    from temporalio.client import Schedule, ScheduleSpec

    async def main() -> None:
        engine, spec, work = server.engine(), a_spec(invocation_id="nightly"), Scripted(_at_once)
        client = await engine.client()
        handle = await client.create_schedule(
            f"{spec.app_name}-nightly", Schedule(action=engine.action(spec), spec=ScheduleSpec())
        )
        async with working(engine, work, spec):
            await handle.trigger()
            async with asyncio.timeout(BOUND):
                while not (found := await engine.records(app_name=spec.app_name)):
                    await asyncio.sleep(0.05)
            record = await until(engine, found[0].spec.key, *OVER)
        await handle.delete()
        assert record.state == RunState.ENDED
        assert record.spec.invocation_id.startswith("nightly-")
        assert work.begun == [spec.model_copy(update={"invocation_id": record.spec.invocation_id})]

    asyncio.run(main())


def test_runs_go_by_priority_and_tenants_take_turns(server: Server) -> None:
    """As far as Temporal promises it: the first few, in a queue of one part."""

    async def main() -> None:
        engine, spec = server.engine(), a_spec(invocation_id="first")
        free = asyncio.Event()

        async def script(spec: InvocationSpec) -> Outcome:
            await free.wait()
            return ended()

        work = Scripted(script)
        async with working(engine, work, spec, concurrency=1):
            await engine.submit(spec)
            await until(engine, spec.key, RunState.RUNNING)
            waiting = [
                spec.model_copy(update={"invocation_id": f"{tenant}{at}", "tenant": tenant * 40})
                for tenant, count in (("lump", 10), ("small", 2))
                for at in range(count)
            ]
            waiting.append(spec.model_copy(update={"invocation_id": "urgent", "priority": 1}))
            for one in waiting:
                await engine.submit(one)
            for one in waiting:
                await _waits(engine, one)
            free.set()
            for one in waiting:
                await until(engine, one.key, *OVER)
        order = [one.invocation_id for one in work.begun]
        assert order.index("urgent") <= 2, order
        assert order.index("small0") < order.index("lump5"), order
        assert order.index("small1") < order.index("lump9"), order

    asyncio.run(main())


def test_a_namespace_that_temporal_has_not_is_named_and_is_not_a_run_that_is_missing(server: Server) -> None:
    async def main() -> None:
        engine, spec = server.engine(namespace="nowhere"), a_spec()
        for call in (engine.submit(spec), engine.record(spec.key), engine.cancel(spec.key), engine.records()):
            with pytest.raises(ConfigurationError, match="has no namespace 'nowhere': correct namespace="):
                await call

    asyncio.run(main())


async def _at_once(spec: InvocationSpec) -> Outcome:
    return ended()


async def _of(engine: TemporalEngine, spec: InvocationSpec) -> object:
    record = await engine.record(spec.key)
    assert record is not None
    return record


async def _ids(engine: TemporalEngine, **which: object) -> list[str]:
    return [record.spec.invocation_id for record in await engine.records(**which)]


async def _waits(engine: TemporalEngine, spec: InvocationSpec) -> None:
    """Wait until a run waits for a worker that is free."""
    async with asyncio.timeout(BOUND):
        while "free" not in (await _of(engine, spec)).reason:
            await asyncio.sleep(0.02)
