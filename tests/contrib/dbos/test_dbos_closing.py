"""A run that is cancelled or late ends once its open calls are closed, whatever it did in that moment."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from tests.contrib.dbos.working import Working, spec_of, until

from newel.engines import InvocationSpec, Outcome, RunState, queue_name
from newel.sessions import StoreUnavailableError
from newel_dbos import DbosEngine, orders, shifts
from newel_dbos.book import Book


class Closing(Working):
    """Work whose store is away at the first closings, and whose runs `cut-` pause just as they are cancelled."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self._failures = failures
        self.tried: list[str] = []

    async def _does(self, spec: InvocationSpec, kind: str) -> Outcome:
        if kind != "cut":
            return await super()._does(spec, kind)
        with suppress(asyncio.CancelledError):
            await self._ends[spec.key]
        return Outcome(state=RunState.PAUSED, events=2, waits_for=("call-1",))

    async def close(self, spec: InvocationSpec) -> Outcome:
        self.tried.append(spec.key)
        if self.tried.count(spec.key) <= self._failures:
            raise StoreUnavailableError("the sessions are away")
        return await super().close(spec)


def _work(uri: str, app: str, work: Working, order: Any) -> None:
    async def main() -> None:
        engine = DbosEngine(uri)
        worker = engine.worker(work, [queue_name(app)])
        await worker.start()
        await order(engine)
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())


def test_a_run_whose_calls_cannot_be_closed_now_ends_later(uri: str) -> None:
    work = Closing(failures=1)

    async def order(engine: DbosEngine) -> None:
        await engine.submit(spec_of("away", "asks-1"))
        await engine.submit(spec_of("away", "asks-2", seconds=2.0))
        await until(engine, "away:asks-1", RunState.PAUSED)
        await until(engine, "away:asks-2", RunState.PAUSED)
        await engine.cancel("away:asks-1")
        cancelled = await until(engine, "away:asks-1", RunState.CANCELLED)
        late = await until(engine, "away:asks-2", RunState.FAILED)
        assert (cancelled.reason, late.reason) == ("cancelled", "it took longer than 2 s")

    _work(uri, "away", work, order)
    assert sorted(work.closed) == ["away:asks-1", "away:asks-2"]
    assert len(work.tried) == 4


def test_a_run_that_pauses_as_it_is_cancelled_or_late_leaves_no_question_open(uri: str) -> None:
    work = Closing(failures=0)

    async def order(engine: DbosEngine) -> None:
        await engine.submit(spec_of("cut", "cut-1"))
        await engine.submit(spec_of("cut", "cut-2", seconds=2.0))
        for key in ("cut:cut-1", "cut:cut-2"):
            while key not in work.now:
                await asyncio.sleep(0.02)
        await engine.cancel("cut:cut-1")
        await until(engine, "cut:cut-1", RunState.CANCELLED)
        await until(engine, "cut:cut-2", RunState.FAILED)

    _work(uri, "cut", work, order)
    assert sorted(work.closed) == ["cut:cut-1", "cut:cut-2"]


def test_closing_is_not_tried_for_ever(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of("bounded", "run-1")
    book.change(orders.submit, spec)
    shift = book.change(shifts.begin, spec.key, 1, "anna", "anna")
    assert shift is not None
    book.change(orders.cancel, spec.key)
    monkeypatch.setattr(shifts, "_MOST_CLOSINGS", 2)
    monkeypatch.setattr(shifts, "_MOST_PATIENCE", 0.0)
    for _ in range(2):
        assert book.change(shifts.close_later, shift, "OSError")
        (shift,) = book.change(shifts.take_over, "anna", "anna", [spec.queue])
    assert not book.change(shifts.close_later, shift, "OSError")
    book.change(shifts.finish, shift, Outcome(state=RunState.CANCELLED), "")
    book.change(orders.retry, spec.key)
    shift = book.change(shifts.begin, spec.key, shift.stretch + 1, "anna", "anna")
    assert shift is not None
    assert book.change(shifts.close_later, shift, "OSError")


@pytest.mark.parametrize("how", ["cancelled", "late"])
def test_a_run_that_was_put_off_after_it_began_is_closed(book: Book, how: str) -> None:
    spec = spec_of("put-off", f"run-{how}")
    book.change(orders.submit, spec)
    shift = book.change(shifts.begin, spec.key, 1, "anna", "anna")
    assert shift is not None
    book.change(shifts.postpone, shift, 60.0, "the session is in use")
    if how == "cancelled":
        book.change(orders.cancel, spec.key)
    else:
        overdue = "UPDATE {runs} SET deadline = now() WHERE key = %(key)s"
        book.change(lambda page: page.query(overdue, key=spec.key))
    taken = book.change(shifts.take_over, "anna", "anna", [spec.queue])
    assert [one.spec.key for one in taken] == [spec.key]
