"""What the rows of the tables hold: a message with anything in it, and a spec that cannot be read."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import psycopg
import pytest
from tests.contrib.dbos.working import PATIENCE, Working, spec_of, until

from newel.engines import Outcome, RunState, queue_name
from newel_dbos import DbosEngine, orders, shifts
from newel_dbos.access import access_of
from newel_dbos.book import Book, Page, StatementRefusedError

GHOST = "a process that is gone"
NUL: dict[str, dict[str, Any]] = {
    "message": {"parts": [{"text": "a \0 in it"}]},
    "state_delta": {"a": "\0"},
    "custom_metadata": {"a": ["\0"]},
}


def _execute(uri: str, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(access_of(uri).url, autocommit=True) as connection:
        found = connection.execute(statement, parameters)  # type: ignore[arg-type]
        return found.fetchall() if found.description else []


def _states(book: Book, app: str) -> dict[str, RunState]:
    return {one.spec.invocation_id: one.state for one in book.change(orders.several, app, None, None, 100)}


@pytest.mark.parametrize("field", NUL)
def test_a_nul_in_what_the_user_says_keeps_nobody_from_a_run(uri: str, book: Book, field: str) -> None:
    app = f"nul-{field}"
    names = ("run-signal", "run-release", "run-recover", "run-leave", "run-other")
    for name in names:
        more = NUL if name != "run-other" else {}
        spec = spec_of(app, name, tenant="t", priority=2, **({field: more[field]} if more else {}))
        book.change(orders.submit, spec)
    given: dict[str, Any] = {}
    for name in names:
        executor = GHOST if name in ("run-recover", "run-other") else name
        given[name] = book.change(shifts.begin, f"{app}:{name}", 1, executor, "anna")
        assert given[name].spec.tenant == "t"
    book.change(shifts.finish, given["run-signal"], Outcome(state=RunState.PAUSED), "")
    book.change(orders.signal, f"{app}:run-signal")
    book.change(shifts.release, given["run-release"])
    _execute(uri, "DELETE FROM newel_dbos.newel_workers WHERE executor = %s", GHOST)
    book.change(shifts.recover)
    book.change(shifts.leave, "run-leave")
    assert _states(book, app) == dict.fromkeys(names, RunState.QUEUED)
    share = "SELECT count(*) FROM newel_dbos.workflow_status WHERE workflow_uuid LIKE %s AND status = 'ENQUEUED' "
    share += "AND priority = 2 AND queue_partition_key = 't'"
    assert _execute(uri, share, f"{app}:%#2") == [(len(names),)]


def test_a_row_of_an_earlier_version_keeps_its_tenant_and_priority(uri: str, book: Book) -> None:
    spec = spec_of("earlier", "run-1", tenant="t", priority=5)
    book.change(orders.submit, spec)
    for column in ("tenant", "priority", "closings", "closes"):
        _execute(uri, f"ALTER TABLE newel_dbos.newel_runs DROP COLUMN {column}")
    book.prepare()
    shift = book.change(shifts.begin, spec.key, 1, "anna", "anna")
    assert shift is not None
    book.change(shifts.release, shift)
    share = "SELECT priority, queue_partition_key FROM newel_dbos.workflow_status WHERE workflow_uuid = %s"
    assert _execute(uri, share, f"{spec.key}#2") == [(5, "t")]


def test_what_the_database_refuses_is_told_without_what_it_quotes(book: Book) -> None:
    def read(page: Page) -> None:
        page.query("SELECT %(text)s::json", text='{"a": quincunx}')

    for ask in (book.change, book.look):
        with pytest.raises(StatementRefusedError, match=r"^InvalidTextRepresentation$") as caught:
            ask(read)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


def _spoil(uri: str, key: str) -> None:
    spoilt = """UPDATE newel_dbos.newel_runs SET spec = '{"app_name": "a", "quincunx": "quincunx"}' WHERE key = %s"""
    _execute(uri, spoilt, key)


def test_a_spec_that_cannot_be_read_ends_its_run_alone(uri: str, book: Book) -> None:
    app, names = "spoilt", ("run-begun", "run-cancelled", "run-late", "run-paused", "run-whole")
    for name in names:
        book.change(orders.submit, spec_of(app, name))
    for name in names[1:]:
        shift = book.change(shifts.begin, f"{app}:{name}", 1, "anna", "anna")
        assert shift is not None
        book.change(shifts.finish, shift, Outcome(state=RunState.PAUSED), "")
    for name in names[:-1]:
        _spoil(uri, f"{app}:{name}")
    listed = {one.spec.invocation_id: one for one in book.change(orders.several, app, None, None, 100)}
    assert set(listed) == set(names)
    paused = listed["run-paused"]
    assert (paused.spec.key, paused.state) == (f"{app}:run-paused", RunState.PAUSED)
    assert "cannot read its spec" in paused.reason
    assert '"' not in paused.reason

    assert book.change(shifts.begin, f"{app}:run-begun", 1, "anna", "anna") is None
    for name in ("run-cancelled", "run-whole"):
        book.change(orders.cancel, f"{app}:{name}")
    _execute(uri, "UPDATE newel_dbos.newel_runs SET deadline = now() WHERE key = %s", f"{app}:run-late")
    shifts_ = book.change(shifts.take_over, "anna", "anna", [queue_name(app)])
    assert [shift.spec.invocation_id for shift in shifts_] == ["run-whole"]
    states = _states(book, app)
    assert {states[name] for name in ("run-begun", "run-cancelled", "run-late")} == {RunState.FAILED}
    late = book.change(orders.one, f"{app}:run-late")
    assert late is not None
    assert late.outcome is not None
    assert late.outcome.error == "UnreadableSpecError"


def test_one_chore_that_fails_keeps_no_other_from_being_done(
    uri: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: Any) -> None:
        raise ValueError("a planted word: quincunx")

    async def main() -> None:
        engine = DbosEngine(uri)
        worker = engine.worker(Working(), [queue_name("chores")])
        await worker.start()
        await engine.submit(spec_of("chores", "asks-1"))
        await until(engine, "chores:asks-1", RunState.PAUSED)
        await engine.cancel("chores:asks-1")
        while "end cancelled and late runs: ValueError" not in caplog.text:
            await asyncio.sleep(0.02)
        await engine.submit(spec_of("chores", "waits-2"))
        await until(engine, "chores:waits-2", RunState.RUNNING)
        lost = "UPDATE newel_dbos.newel_runs SET executor = %s WHERE key = %s"
        _execute(uri, lost, GHOST, "chores:waits-2")
        while (record := await engine.record("chores:waits-2")) is None or record.attempts < 2:
            await asyncio.sleep(0.02)
        await worker.drain(0)
        await engine.close()

    for chore in ("hand_out_due", "take_over", "bury", "give_back", "let_go"):
        monkeypatch.setattr(shifts, chore, refused)
    with caplog.at_level(logging.WARNING, "newel_dbos"):
        asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert "quincunx" not in caplog.text
