"""DbosEngine over a real PostgreSQL."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from dbos import _dbos, _workflow_commands
from tests.contrib.dbos.working import HOST, PATIENCE, Working, spec_of, until

from newel.engines import EngineUnavailableError, EngineWorker, RunState, SpecRefusedError, queue_name
from newel.engines.kinds import EngineBackend
from newel_compose import compose
from newel_dbos import DbosEngine, plugin
from newel_dbos import book as books
from newel_dbos.access import access_of
from newel_kernel import ConfigurationError


@asynccontextmanager
async def working(
    uri: str, app: str, *, concurrency: int = 4
) -> AsyncIterator[tuple[DbosEngine, Working, EngineWorker]]:
    """An engine, and a worker of the app that drains at the end."""
    engine, work = DbosEngine(uri), Working()
    worker = engine.worker(work, [queue_name(app)], concurrency=concurrency, name="anna")
    await worker.start()
    try:
        yield engine, work, worker
    finally:
        await worker.drain(0)
        await engine.close()


async def eventually(true: Callable[[], object]) -> None:
    async def wait() -> None:
        while not true():
            await asyncio.sleep(0.02)

    await asyncio.wait_for(wait(), PATIENCE)


def rows(uri: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(access_of(uri).url) as connection:
        return connection.execute(statement).fetchall()  # type: ignore[arg-type]


def test_a_run_goes_from_the_queue_to_its_end(uri: str) -> None:
    async def main() -> None:
        async with working(uri, "plain") as (engine, work, worker):
            first = await engine.submit(spec_of("plain", "run-1"))
            assert first.state is RunState.QUEUED
            record = await until(engine, "plain:run-1", RunState.ENDED)
            assert (record.attempts, record.worker, record.spec) == (1, "anna", spec_of("plain", "run-1"))
            assert record.started is not None
            assert record.ended is not None
            assert record.submitted <= record.started <= record.ended
            assert record.outcome is not None
            assert record.outcome.events == 4
            again = await engine.submit(spec_of("plain", "run-1", priority=1))
            assert again.state is RunState.ENDED
            await engine.signal("plain:run-1")
            await engine.cancel("plain:run-1")
            await engine.retry("plain:run-1")
            after = await engine.record("plain:run-1")
            assert after == record
            assert work.calls == {"plain:run-1": 1}
            await eventually(lambda: not worker.running)

    asyncio.run(main())


def test_another_submission_by_the_same_key_is_refused_by_its_field(uri: str) -> None:
    async def main() -> None:
        engine = DbosEngine(uri)
        await engine.submit(spec_of("keys", "run-1", message={"parts": [{"text": "one"}]}))
        others = {"user_id": "eve", "session_id": "s2", "message": {"parts": []}, "tenant": "t"}
        for name, value in others.items():
            given = {"message": {"parts": [{"text": "one"}]}, name: value}
            with pytest.raises(SpecRefusedError, match=name):
                await engine.submit(spec_of("keys", "run-1", **given))
        for name in ("version", "user_id", "session_id", "tenant", "message_artifact"):
            with pytest.raises(SpecRefusedError, match=f"{name}: .*NUL"):
                await engine.submit(spec_of("keys", "run-2", **{name: "1\0"}))
        assert len(await engine.records(app_name="keys")) == 1
        await engine.close()

    asyncio.run(main())


def test_a_pause_frees_the_worker_and_an_answer_resumes_the_run(uri: str) -> None:
    async def main() -> None:
        async with working(uri, "pauses", concurrency=1) as (engine, work, _):
            await engine.submit(spec_of("pauses", "asks-1"))
            paused = await until(engine, "pauses:asks-1", RunState.PAUSED)
            assert paused.outcome is not None
            assert (paused.outcome.waits_for, paused.ended) == (("call-1",), None)
            await engine.submit(spec_of("pauses", "run-2"))
            await until(engine, "pauses:run-2", RunState.ENDED)
            assert rows(
                uri,
                "SELECT count(*) FROM newel_dbos.workflow_status WHERE workflow_uuid LIKE 'pauses:%' "
                "AND status IN ('PENDING', 'ENQUEUED', 'DELAYED')",
            ) == [(0,)]
            work.answered.add("pauses:asks-1")
            await asyncio.gather(*(engine.signal("pauses:asks-1") for _ in range(3)))
            ended = await until(engine, "pauses:asks-1", RunState.ENDED)
            assert (ended.attempts, work.calls["pauses:asks-1"]) == (2, 2)

    asyncio.run(main())


def test_an_answer_that_comes_just_before_the_pause_is_not_missed(uri: str) -> None:
    async def main() -> None:
        async with working(uri, "early") as (engine, work, _):
            asked = asyncio.Event()
            does = work._does

            async def slowly(spec: Any, kind: str) -> Any:
                outcome = await does(spec, kind)
                if outcome.state is RunState.PAUSED:
                    work.answered.add(spec.key)
                    await engine.signal(spec.key)
                    asked.set()
                return outcome

            work._does = slowly  # type: ignore[method-assign]
            await engine.submit(spec_of("early", "asks-1"))
            await until(engine, "early:asks-1", RunState.ENDED)
            assert asked.is_set()

    asyncio.run(main())


def test_a_run_is_cancelled_wherever_it_is(uri: str) -> None:
    async def main() -> None:
        async with working(uri, "cancels", concurrency=1) as (engine, work, _):
            await engine.submit(spec_of("cancels", "asks-1"))
            await until(engine, "cancels:asks-1", RunState.PAUSED)
            await engine.submit(spec_of("cancels", "waits-2"))
            await until(engine, "cancels:waits-2", RunState.RUNNING)
            await engine.submit(spec_of("cancels", "waits-3"))
            for name in ("asks-1", "waits-2", "waits-3"):
                began = asyncio.get_running_loop().time()
                await engine.cancel(f"cancels:{name}")
                record = await until(engine, f"cancels:{name}", RunState.CANCELLED)
                assert record.outcome is not None
                assert asyncio.get_running_loop().time() - began < PATIENCE
            # The worker was full when the first was cancelled, and what never began is not begun for that.
            assert work.closed == ["cancels:asks-1", "cancels:waits-2"]
            assert work.calls["cancels:waits-3"] == 0
            await engine.submit(spec_of("cancels", "run-4"))
            await until(engine, "cancels:run-4", RunState.ENDED)

    asyncio.run(main())


def test_a_deadline_counts_from_the_submission(uri: str) -> None:
    async def main() -> None:
        async with working(uri, "deadlines", concurrency=2) as (engine, work, _):
            await engine.submit(spec_of("deadlines", "asks-1", seconds=1.5))
            await engine.submit(spec_of("deadlines", "waits-1", seconds=1.0))
            await engine.submit(spec_of("deadlines", "waits-2", seconds=60))
            await engine.submit(spec_of("deadlines", "waits-3", seconds=60))
            for name in ("asks-1", "waits-1"):
                record = await until(engine, f"deadlines:{name}", RunState.FAILED)
                assert record.outcome is not None
                assert record.outcome.error == "TimeoutError"
            # Those that had begun have closed what was open.
            assert sorted(work.closed) == [key for key in ("deadlines:asks-1", "deadlines:waits-1") if work.calls[key]]

    asyncio.run(main())


def test_the_first_go_first_and_no_worker_has_more_than_it_takes(uri: str) -> None:
    async def main() -> None:
        engine, work = DbosEngine(uri), Working()
        for number, priority in enumerate((3, 5, 1, 3, 2)):
            await engine.submit(spec_of("order", f"run-{number}", priority=priority))
        worker = engine.worker(work, [queue_name("order")], concurrency=1)
        await worker.start()
        for number in range(5):
            await until(engine, f"order:run-{number}", RunState.ENDED)
        assert (work.order, work.most) == (["run-2", "run-4", "run-0", "run-3", "run-1"], 1)
        names = [record.spec.invocation_id for record in await engine.records(app_name="order", most=3)]
        assert names == ["run-4", "run-3", "run-2"]
        assert not await engine.records(app_name="order", state=RunState.RUNNING)
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())


def test_a_tenant_with_many_runs_does_not_stand_before_the_others(uri: str) -> None:
    async def main() -> None:
        engine, work = DbosEngine(uri), Working()
        for number in range(60):
            await engine.submit(spec_of("fair", f"run-{number}", tenant="big"))
        await engine.submit(spec_of("fair", "run-small", tenant="small"))
        worker = engine.worker(work, [queue_name("fair")], concurrency=1)
        await worker.start()
        await until(engine, "fair:run-small", RunState.ENDED)
        assert work.order.index("run-small") < 59
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())


def test_a_worker_that_is_drained_releases_its_runs_and_another_resumes_them(uri: str) -> None:
    async def main() -> None:
        engine, first, second = DbosEngine(uri), Working(), Working()
        queues = [queue_name("drains")]
        worker = engine.worker(first, queues, concurrency=3)
        await worker.start()
        for number in range(5):
            await engine.submit(spec_of("drains", f"waits-{number}"))
        await eventually(lambda: len(first.now) == 3)
        assert len(worker.running) == 3
        began = set(worker.running)
        await worker.drain(0.1)
        assert not first.now
        assert not first.closed
        states = {record.spec.key: record.state for record in await engine.records(app_name="drains")}
        assert set(states.values()) == {RunState.QUEUED}
        worker = engine.worker(second, queues, concurrency=5)
        await worker.start()
        await eventually(lambda: len(second.now) == 5)
        for key in states:
            second.end(key)
        attempts = {key: (await until(engine, key, RunState.ENDED)).attempts for key in states}
        assert attempts == {key: 1 + (key in began) for key in states}
        assert max(second.calls.values()) == 1
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())


def test_a_run_that_its_process_releases_while_its_worker_drains_has_had_an_attempt(uri: str) -> None:
    async def main() -> None:
        async with working(uri, "hasty") as (engine, work, worker):
            await engine.submit(spec_of("hasty", "waits-1"))
            await until(engine, "hasty:waits-1", RunState.RUNNING)
            await eventually(lambda: "hasty:waits-1" in work.now)
            draining = asyncio.ensure_future(worker.drain(PATIENCE))
            await asyncio.sleep(0.1)
            work.release("hasty:waits-1")
            await draining
            record = await engine.record("hasty:waits-1")
            assert record is not None
            assert (record.state, record.attempts) == (RunState.QUEUED, 1)

    asyncio.run(main())


def test_two_workers_of_a_process_share_its_dbos_and_one_may_leave(uri: str) -> None:
    async def main() -> None:
        engine, left, right = DbosEngine(uri), Working(), Working()
        one = engine.worker(left, [queue_name("left"), queue_name("both")], concurrency=1)
        other = engine.worker(right, [queue_name("right"), queue_name("both")], concurrency=1)
        await one.start()
        await engine.submit(spec_of("left", "waits-1"))
        await until(engine, "left:waits-1", RunState.RUNNING)
        await other.start()  # DBOS starts again for its queue, and the run goes on
        await engine.submit(spec_of("right", "run-1"))
        await until(engine, "right:run-1", RunState.ENDED)
        await engine.submit(spec_of("both", "run-1"))
        await until(engine, "both:run-1", RunState.ENDED)
        assert (right.calls["both:run-1"], left.calls["left:waits-1"]) == (1, 1)
        left.end("left:waits-1")
        await until(engine, "left:waits-1", RunState.ENDED)
        await one.drain(0)
        await engine.submit(spec_of("both", "run-2"))
        await until(engine, "both:run-2", RunState.ENDED)
        with pytest.raises(ConfigurationError, match="once in a process"):
            await DbosEngine(uri + "&schema=other").worker(right, ["q"]).start()
        await other.drain(0)
        await engine.close()

    asyncio.run(main())


def test_a_loop_that_ended_without_a_word_leaves_its_runs_to_the_next_one(uri: str) -> None:
    async def left() -> None:
        engine = DbosEngine(uri)
        await engine.worker(Working(), [queue_name("loops")]).start()
        await engine.submit(spec_of("loops", "waits-1"))
        await until(engine, "loops:waits-1", RunState.RUNNING)
        await engine.close()

    async def found() -> None:
        async with working(uri, "loops") as (engine, work, _):
            await eventually(lambda: "loops:waits-1" in work.now)
            work.end("loops:waits-1")
            await until(engine, "loops:waits-1", RunState.ENDED)

    asyncio.run(left())
    asyncio.run(found())


def test_a_run_that_no_worker_fits_says_so_and_ends_after_a_while(uri: str) -> None:
    async def main() -> None:
        async with working(uri + "&misfit=3", "fits") as (engine, work, _):
            await engine.submit(spec_of("fits", "run-1", version="2", lock="ab" * 32))
            queued = await engine.record("fits:run-1")
            assert queued is not None
            assert (queued.state, queued.reason) == (RunState.QUEUED, f"no worker for newel/fits/2/{'ab' * 8} is there")
            misfit = await until(engine, "fits:run-1", RunState.MISFIT)
            assert "VersionMismatch" in misfit.reason
            assert not work.calls
            await engine.retry("fits:run-1")
            again = await engine.record("fits:run-1")
            assert again is not None
            assert again.state is RunState.QUEUED

    asyncio.run(main())


def test_dbos_looks_seldom_for_what_is_not_here(uri: str) -> None:
    async def main() -> None:
        async with working(uri, "quiet"):
            # Names of DBOS's own, which a later version may not have: then an idle worker costs 0.8 % of a core more.
            assert _dbos._get_dbos_instance()._registry.get_internal_queue()._polling_interval_sec == 60.0
            assert _workflow_commands._BACKGROUND_JOBS_INTERVAL_SEC == 4.0
            assert "_BACKGROUND_JOBS_INTERVAL_SEC" in inspect.getsource(_workflow_commands.background_jobs_thread)

    asyncio.run(main())


def test_dbos_knows_only_keys(uri: str) -> None:
    async def main() -> None:
        planted = {"parts": [{"text": "a planted word: quincunx"}]}
        async with working(uri, "words") as (engine, _, _):
            await engine.submit(spec_of("words", "breaks-1", message=planted, state_delta={"word": "quincunx"}))
            await until(engine, "words:breaks-1", RunState.ENDED)
        tables = [name for (name,) in rows(uri, "SELECT tablename FROM pg_tables WHERE schemaname = 'newel_dbos'")]
        assert {"workflow_status", "workflow_input", "operation_outputs", "newel_runs"} <= set(tables)
        content = {name: json.dumps(rows(uri, f"SELECT t::text FROM newel_dbos.{name} AS t")) for name in tables}
        assert [name for name, text in content.items() if "quincunx" in text] == ["newel_runs"]
        assert not [name for name, text in content.items() if "safe is under" in text]

    asyncio.run(main())


def test_the_uri_says_how(uri: str) -> None:
    access = access_of("dbos://ann:p%40ss@db:5433/agents?heartbeat=9&schema=runs&sslmode=require&poll=0.5")
    assert access.url == "postgresql://ann:p%40ss@db:5433/agents?sslmode=require"
    assert (access.schema, access.heartbeat, access.poll, access.misfit) == ("runs", 9.0, 0.5, 86400.0)
    for wrong, named in (
        ("dbos://db", "names a database"),
        ("dbos://db/a?poll=soon", "poll='soon'"),
        ("dbos://db/a?heartbeat=0", "heartbeat='0'"),
        ("dbos://db/a?schema=a;b", "schema="),
        ("dbos://db/a?hartbeat=9", "'hartbeat' is not a parameter .*: schema, heartbeat, poll, misfit, keep, "),
    ):
        with pytest.raises(ConfigurationError, match=named):
            access_of(wrong)
    backend = compose("minimal", plugins=[plugin]).registry.find(EngineBackend, "dbos")
    assert isinstance(backend.open(uri), DbosEngine)


def test_an_engine_that_is_not_used_holds_no_connection(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(books, "_UNUSED", 0.2)

    async def main() -> None:
        engine, spec = DbosEngine(uri), spec_of("unused", "run-1")
        await engine.submit(spec)
        book = await engine._opened()
        await eventually(lambda: book.engine.pool.checkedin() == 0)  # type: ignore[attr-defined]
        record = await engine.record(spec.key)
        assert record is not None
        assert record.spec == spec
        assert book.engine.pool.checkedin() == 1  # type: ignore[attr-defined]
        await engine.close()

    asyncio.run(main())


def test_a_database_that_does_not_exist_is_not_made(uri: str) -> None:
    async def main() -> None:
        engine = DbosEngine(f"dbos://postgres@{HOST}/newel_dbos_mistyped")
        with pytest.raises(ConfigurationError, match=r"no database 'newel_dbos_mistyped' .*createdb"):
            await engine.submit(spec_of("mistyped", "run-1"))
        with pytest.raises(ConfigurationError, match="no database"):
            await engine.worker(Working(), ["q"]).start()
        await engine.close()

    asyncio.run(main())
    assert not rows(uri, "SELECT 1 FROM pg_database WHERE datname = 'newel_dbos_mistyped'")


def test_a_database_that_is_away_is_named_without_its_address(uri: str) -> None:
    async def main() -> None:
        engine = DbosEngine("dbos://postgres:secret@127.0.0.1:9/none?connect_timeout=2")
        with pytest.raises(EngineUnavailableError) as caught:
            await engine.submit(spec_of("away", "run-1"))
        assert "secret" not in str(caught.value)
        await engine.close()

    asyncio.run(main())
