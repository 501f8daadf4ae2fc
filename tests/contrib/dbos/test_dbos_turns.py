"""Whose turn it is in a session, after each way in which a run leaves its worker, and for versions without a worker."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg
import pytest
from tests.contrib.dbos.working import HOST, PATIENCE, spec_of

from newel.engines import EngineUnavailableError, Outcome, RunState, queue_name
from newel_dbos import orders, shifts
from newel_dbos.access import access_of
from newel_dbos.book import Book

LEAVES: dict[str, Any] = {
    "postpone": lambda book, shift: book.change(shifts.postpone, shift, 60.0, "the session is in use"),
    "fail": lambda book, shift: book.change(shifts.fail, shift, "OSError"),
    "release": lambda book, shift: book.change(shifts.release, shift),
    "let_go": lambda book, shift: book.change(shifts.let_go, shift.spec.key, shift.stretch, shift.executor),
    "close_later": lambda book, shift: book.change(shifts.close_later, shift, ""),
    "leave": lambda book, shift: book.change(shifts.leave, shift.executor),
}


@pytest.mark.parametrize("how", LEAVES)
def test_an_answered_run_goes_as_soon_as_the_one_before_it_leaves_its_worker(book: Book, how: str) -> None:
    first, second = (spec_of(f"next-{how}", f"run-{number}", session_id="one") for number in (1, 2))
    for spec in (first, second):
        book.change(orders.submit, spec)
    shift = book.change(shifts.begin, first.key, 1, "anna", "anna")
    assert shift is not None
    book.change(shifts.finish, shift, Outcome(state=RunState.PAUSED), "")
    shift = book.change(shifts.begin, second.key, 2, f"bob-{how}", "bob")
    assert shift is not None
    book.change(orders.signal, first.key)
    assert book.change(shifts.begin, first.key, 2, "anna", "anna") is None
    LEAVES[how](book, shift)
    assert book.change(shifts.begin, first.key, 3, "anna", "anna") is not None


def test_a_run_of_a_version_without_a_worker_lets_others_of_its_session_pass(book: Book) -> None:
    old, new = (spec_of("versions", f"run-{number}", session_id="one", version=f"{number}") for number in (1, 2))
    book.change(shifts.beat, "anna", [queue_name("versions", "2")])
    book.change(orders.submit, old)
    assert book.change(orders.submit, new).reason == "it waits for a free worker"
    shift = book.change(shifts.begin, new.key, 1, "anna", "anna")
    assert shift is not None
    book.change(shifts.release, shift)
    book.change(shifts.beat, "bob", [queue_name("versions", "1")])
    assert book.change(shifts.begin, new.key, 2, "anna", "anna") is None  # the first goes first again
    assert book.change(shifts.begin, old.key, 1, "bob", "bob") is not None


def test_who_begins_a_run_holds_no_other_row_while_it_waits_for_the_session(uri: str) -> None:
    book = Book(access_of(uri.replace("?", "?misfit=0.05&")), connections=2)
    book.prepare()
    misfit, run = spec_of("locks", "run-1", session_id="one", version="1"), spec_of("locks", "run-2", session_id="one")
    for spec in (misfit, run):
        book.change(orders.submit, spec)
    time.sleep(0.1)
    beginning = threading.Thread(target=book.change, args=(shifts.begin, run.key, 1, "a new worker", "anna"))
    with psycopg.connect(access_of(uri).url) as connection:
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(session, 0)) FROM newel_dbos.newel_runs WHERE key = %s"
        connection.execute(lock, (misfit.key,))
        beginning.start()
        waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        end = time.monotonic() + PATIENCE
        while connection.execute(waits).fetchone() == (0,):
            assert time.monotonic() < end
            time.sleep(0.01)
        row = "SELECT 1 FROM newel_dbos.newel_runs WHERE key = %s FOR UPDATE NOWAIT"
        assert connection.execute(row, (misfit.key,)).fetchone() == (1,)
    beginning.join()
    book.close()


def test_a_database_without_a_connection_left_is_told_so(uri: str) -> None:
    role = f"newel_few_{threading.get_native_id()}"
    with psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 0")  # type: ignore[arg-type]
        try:
            book = Book(access_of(uri.replace("postgres@", f"{role}@")), connections=1)
            with pytest.raises(EngineUnavailableError, match="too many connections: try again"):
                book.prepare()
            book.close()
        finally:
            server.execute(f"DROP ROLE {role}")  # type: ignore[arg-type]
