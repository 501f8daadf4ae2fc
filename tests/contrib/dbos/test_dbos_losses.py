"""Runs that a crash, a hang or two writers at once would leave to nobody."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.contrib.dbos.working import PATIENCE, Working, spec_of, until

from newel.engines import Outcome, RunState, queue_name
from newel_dbos import DbosEngine, orders, shifts
from newel_dbos.access import access_of
from newel_dbos.book import Book

GHOST = "a process that is gone"


def _execute(uri: str, statement: str, *parameters: Any) -> None:
    with psycopg.connect(access_of(uri).url, autocommit=True) as connection:
        connection.execute(statement, parameters)  # type: ignore[arg-type]


def _count(uri: str, statement: str, *parameters: Any) -> int:
    with psycopg.connect(access_of(uri).url, autocommit=True) as connection:
        found = connection.execute(statement, parameters).fetchone()  # type: ignore[arg-type]
    assert found is not None
    return int(found[0])


def test_what_nobody_has_is_found_by_what_the_tables_say(uri: str, book: Book) -> None:
    async def main() -> None:
        engine, work, runs = DbosEngine(uri), Working(), "newel_dbos.newel_runs"
        for name in ("run-claimed", "run-begun", "run-ended", "run-late", "run-locked"):
            await engine.submit(spec_of("lost", name))
        claimed = "UPDATE newel_dbos.workflow_status SET status = %s, executor_id = %s WHERE workflow_uuid = %s"
        _execute(uri, claimed, "PENDING", GHOST, "lost:run-claimed")
        _execute(uri, claimed, "SUCCESS", GHOST, "lost:run-ended")
        _execute(uri, f"UPDATE {runs} SET state = 'running', executor = %s WHERE key = %s", GHOST, "lost:run-begun")
        # Taken for dead while it hung, and claims a run before it knows.
        assert book.change(shifts.begin, "lost:run-late", 1, "hung", "hung") is not None
        assert book.change(shifts.begin, "lost:run-locked", 1, "dead", "dead") is not None
        with psycopg.connect(access_of(uri).url) as connection:
            connection.execute(f"SELECT 1 FROM {runs} WHERE key = 'lost:run-locked' FOR UPDATE")
            worker = engine.worker(work, [queue_name("lost")])
            await worker.start()
            for name in ("run-claimed", "run-begun", "run-ended", "run-late"):
                await until(engine, f"lost:{name}", RunState.ENDED)
            while _count(uri, "SELECT count(*) FROM newel_dbos.newel_workers WHERE executor IN ('hung', 'dead')"):
                await asyncio.sleep(0.05)
            assert work.calls["lost:run-locked"] == 0
        await until(engine, "lost:run-locked", RunState.ENDED)
        assert set(work.calls.values()) == {1}
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())


def _meanwhile(uri: str, before: Callable[[psycopg.Connection[Any]], None], then: Callable[[], object]) -> None:
    """Do `then` while the transaction of `before` is open, which is committed once `then` waits for it."""
    with psycopg.connect(access_of(uri).url) as connection:
        before(connection)
        thread = threading.Thread(target=then)
        thread.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        end = time.monotonic() + PATIENCE
        while thread.is_alive() and not _count(uri, waits):
            assert time.monotonic() < end
            time.sleep(0.01)
    thread.join()


@pytest.mark.parametrize("state", ["paused", "failed"])
def test_an_order_waits_for_who_writes_the_run_just_then(uri: str, book: Book, state: str) -> None:
    spec = spec_of("orders", f"run-{state}")
    book.change(orders.submit, spec)
    shift = book.change(shifts.begin, spec.key, 1, GHOST, "anna")
    assert shift is not None
    order = orders.signal if state == "paused" else orders.retry

    def finish(connection: psycopg.Connection[Any]) -> None:
        outcome = Outcome(state=RunState(state), events=2)
        connection.execute(
            "UPDATE newel_dbos.newel_runs SET state = %s, outcome = %s WHERE key = %s",
            (state, orders.written(outcome), spec.key),
        )

    _meanwhile(uri, finish, lambda: book.change(order, spec.key))
    record = book.change(orders.one, spec.key)
    assert record is not None
    assert record.state is RunState.QUEUED
    assert book.change(shifts.begin, spec.key, 2, GHOST, "anna") is not None


def test_what_cannot_be_written_keeps_no_run(uri: str, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of("texts", "run-1")
    book.change(orders.submit, spec)
    shift = book.change(shifts.begin, spec.key, 1, GHOST, "anna")
    assert shift is not None
    book.change(shifts.finish, shift, Outcome(state=RunState.FAILED), "half \ud800 and none \0")
    record = book.change(orders.one, spec.key)
    assert record is not None
    assert (record.state, record.reason) == (RunState.FAILED, "half ? and none ?")

    real, tried = shifts.finish, []

    def finish(*arguments: Any) -> None:
        tried.append(arguments)
        if len(tried) == 1:
            raise ValueError("it cannot be written")
        real(*arguments)

    async def main() -> None:
        engine = DbosEngine(uri)
        worker = engine.worker(Working(), [queue_name("texts")])
        await worker.start()
        await engine.submit(spec_of("texts", "run-2"))
        await until(engine, "texts:run-2", RunState.ENDED)
        kept = "SELECT count(*) FROM newel_dbos.workflow_status WHERE error LIKE '%%cannot be written%%'"
        assert _count(uri, kept) == 0
        await worker.drain(0)
        await engine.close()

    monkeypatch.setattr(shifts, "finish", finish)
    asyncio.run(main())
    assert len(tried) == 2


def test_runs_of_a_session_go_one_after_the_other_in_the_order_in_which_they_came(uri: str) -> None:
    async def main() -> None:
        engine, work = DbosEngine(uri), Working()
        names = ["waits-0", "run-1", "asks-2", "breaks-3", "run-4", "later-5", "run-6"]
        for number, name in enumerate(names):
            await engine.submit(spec_of("turns", name, session_id="one", priority=5 - number % 5))
        worker = engine.worker(work, [queue_name("turns")], concurrency=8)
        await worker.start()
        await until(engine, "turns:waits-0", RunState.RUNNING)
        await engine.submit(spec_of("turns", "run-other", session_id="other"))
        await until(engine, "turns:run-other", RunState.ENDED)
        await engine.cancel("turns:run-4")
        second = await engine.record("turns:run-1")
        assert second is not None
        assert (second.state, second.reason) == (RunState.QUEUED, "it waits for another run of its session")
        work.end("turns:waits-0")
        await until(engine, "turns:run-6", RunState.ENDED)
        order = [name for name in dict.fromkeys(work.order) if name != "run-other"]
        assert order == ["waits-0", "run-1", "asks-2", "breaks-3", "later-5", "run-6"]
        # One that waits for an answer lets others pass, and has its turn again with the answer.
        work.answered.add("turns:asks-2")
        await engine.submit(spec_of("turns", "waits-7", session_id="one"))
        await until(engine, "turns:waits-7", RunState.RUNNING)
        await engine.signal("turns:asks-2")
        await engine.submit(spec_of("turns", "run-8", session_id="one"))
        assert "turns:asks-2" not in work.now
        work.end("turns:waits-7")
        await until(engine, "turns:run-8", RunState.ENDED)
        assert work.order[-2:] == ["asks-2", "run-8"]
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())


def test_two_runs_never_share_a_workflow(uri: str) -> None:
    async def main() -> None:
        engine, work = DbosEngine(uri), Working()
        await engine.submit(spec_of("names", "asks-1"))
        worker = engine.worker(work, [queue_name("names")])
        await worker.start()
        await until(engine, "names:asks-1", RunState.PAUSED)
        await engine.submit(spec_of("names", "asks-1#2"))
        await until(engine, "names:asks-1#2", RunState.PAUSED)
        for name in ("asks-1", "asks-1#2"):
            work.answered.add(f"names:{name}")
            await engine.signal(f"names:{name}")
        for name in ("asks-1", "asks-1#2"):
            await until(engine, f"names:{name}", RunState.ENDED)
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())


def test_runs_that_ended_long_ago_are_removed(uri: str) -> None:
    async def main() -> None:
        engine, work = DbosEngine(uri + "&keep=2&misfit=4"), Working()
        await engine.submit(spec_of("kept", "run-0", version="1"))  # for nobody
        worked = "INSERT INTO newel_dbos.newel_queues VALUES (%s, now() - interval '5 seconds')"
        _execute(uri, worked, queue_name("gone"))
        _execute(uri, worked, queue_name("kept", "1"))
        worker = engine.worker(work, [queue_name("kept")])
        await worker.start()
        await engine.submit(spec_of("kept", "asks-1"))
        await engine.submit(spec_of("kept", "run-1"))
        await until(engine, "kept:run-1", RunState.ENDED)
        while await engine.record("kept:run-1") is not None:
            await asyncio.sleep(0.05)
        left = "SELECT count(*) FROM newel_dbos.workflow_status WHERE workflow_uuid LIKE %s"
        assert (_count(uri, left, "kept:run-1%"), _count(uri, left, "kept:asks-%")) == (0, 1)
        await until(engine, "kept:asks-1", RunState.PAUSED)
        assert _count(uri, "SELECT count(*) FROM newel_dbos.newel_queues WHERE queue = %s", queue_name("gone")) == 0
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())
