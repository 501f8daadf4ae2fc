"""Random orders, workers and crashes, a transaction each, on the tables alone: each run ends, and in its turn."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.contrib.dbos.working import HOST, spec_of

from newel.engines import OVER, Outcome, RunState
from newel_dbos import orders, shifts
from newel_dbos.access import access_of
from newel_dbos.book import Book
from newel_dbos.shifts import Shift

WORKFLOWS, WORKERS = "newel_orders.workflow_status", "newel_orders.newel_workers"
ENDS = [RunState.ENDED, RunState.FAILED, RunState.PAUSED]


class World:
    """What submitters, DBOS and workers do, chosen by chance. A worker that dies is not heard of again."""

    def __init__(self, book: Book, connection: psycopg.Connection[Any], seed: int) -> None:
        self.book = book
        self.chance = random.Random(seed)
        self.app = f"orders{seed}"
        self.keys: list[str] = []
        #: What each worker has, by its name.
        self.held: dict[str, list[Shift]] = {}
        #: The first beginnings in each session.
        self.begun: dict[str, list[int]] = defaultdict(list)
        self.retried: set[str] = set()
        self._connection = connection
        self._workers = 0

    def submit(self) -> None:
        number = len(self.keys)
        session, priority = f"s{self.chance.randrange(3)}", self.chance.randint(1, 5)
        spec = spec_of(self.app, f"run-{number}", session_id=session, priority=priority)
        self.keys.append(self.book.change(orders.submit, spec).spec.key)

    def order(self) -> None:
        key, order = self.chance.choice(self.keys), self.chance.choice(["cancel", "retry", "signal", "signal"])
        self.book.change(getattr(orders, order), key)
        if order == "retry":
            self.retried.add(key)

    def join(self) -> None:
        self._workers += 1
        self.held[worker := f"{self.app}-worker-{self._workers}"] = []
        self.book.change(shifts.beat, worker, ())

    def claim(self) -> None:
        """DBOS gives somebody a run, who may die before it begins, or hang and be taken for dead."""
        for workflow, key, stretch in self._enqueued(2):
            worker = self.chance.choice(list(self.held))
            self._write("PENDING", worker, workflow)
            if self.chance.random() < 0.1:
                self.die(worker)
                return
            if self.chance.random() < 0.1:
                self._silence(worker)
                self.book.change(shifts.bury)
            if (shift := self.book.change(shifts.begin, key, stretch, worker, worker)) is not None:
                self._has_begun(worker, shift)
            self._write("SUCCESS", worker, workflow)

    def _has_begun(self, worker: str, shift: Shift) -> None:
        self.held[worker].append(shift)
        if shift.spec.key not in self.retried and shift.spec.attempt == 1:
            number = int(shift.spec.invocation_id.partition("-")[2])
            if number not in (numbers := self.begun[shift.spec.session_id]):
                numbers.append(number)

    def leave(self) -> None:
        """A worker says how its runs have left it, or dies before it does."""
        worker = self.chance.choice(list(self.held))
        while self.held[worker]:
            shift, how = self.held[worker].pop(), self.chance.random()
            if how < 0.7:
                self.book.change(shifts.finish, shift, Outcome(state=self.chance.choice(ENDS)), "")
            elif how < 0.8:
                self.book.change(shifts.postpone, shift, 0.0, "")
            elif how < 0.9:
                self.book.change(shifts.release, shift)
            else:
                self.die(worker)
                return

    def die(self, worker: str = "") -> None:
        worker = worker or self.chance.choice(list(self.held))
        del self.held[worker]
        self._silence(worker)
        if not self.held:
            self.join()

    def tidy(self) -> None:
        """What any worker does from time to time."""
        self.book.change(shifts.bury)
        self.book.change(shifts.recover)
        self.book.change(shifts.hand_out_due)
        worker = self.chance.choice(list(self.held))
        for shift in self.book.change(shifts.take_over, worker, worker, [spec_of(self.app, "x").queue]):
            self.book.change(shifts.finish, shift, Outcome(state=RunState.CANCELLED), "")

    def end(self) -> None:
        """One worker that does all that is left, after all others have died."""
        while len(self.held) > 1:
            self.die(next(iter(self.held)))
        (worker,) = self.held
        for _ in range(100):
            self.tidy()
            for workflow, key, stretch in self._enqueued(100):
                self._write("SUCCESS", worker, workflow)
                if (shift := self.book.change(shifts.begin, key, stretch, worker, worker)) is not None:
                    self._has_begun(worker, shift)
                    self.book.change(shifts.finish, shift, Outcome(state=RunState.ENDED), "")
            records = self.book.change(orders.several, self.app, None, None, 1000)
            for record in records:
                if record.state is RunState.PAUSED:
                    self.book.change(orders.signal, record.spec.key)
            for shift in self.held[worker]:
                self.book.change(shifts.release, shift)
            self.held[worker].clear()
            if all(record.state in OVER for record in records):
                return
        raise AssertionError([(one.spec.key, one.state, one.reason) for one in records if one.state not in OVER])

    def _silence(self, worker: str) -> None:
        statement = f"UPDATE {WORKERS} SET lapses = now() - interval '1 second' WHERE executor = %s"
        self._connection.execute(statement, (worker,))  # type: ignore[arg-type]

    def _write(self, status: str, worker: str, workflow: str) -> None:
        statement = f"UPDATE {WORKFLOWS} SET status = %s, executor_id = %s WHERE workflow_uuid = %s"
        self._connection.execute(statement, (status, worker, workflow))  # type: ignore[arg-type]

    def _enqueued(self, most: int) -> list[tuple[str, str, int]]:
        found = self._connection.execute(
            f"SELECT workflow_uuid FROM {WORKFLOWS} WHERE status = 'ENQUEUED' AND workflow_uuid LIKE %s "  # type: ignore[arg-type]
            "ORDER BY priority, random() LIMIT %s",
            (f"{self.app}:%", most),
        ).fetchall()
        parts = [(name, *name.partition("#")[::2]) for (name,) in found]
        return [(name, key, int(stretch or 1)) for name, key, stretch in parts]


@pytest.fixture(scope="module")
def book(database: str) -> Iterator[Book]:
    book = Book(access_of(f"dbos://postgres@{HOST}/{database}?heartbeat=600&schema=newel_orders"), connections=2)
    book.prepare()
    yield book
    book.close()


@pytest.mark.parametrize("seed", range(2))
def test_each_run_ends_and_begins_in_its_turn(book: Book, seed: int) -> None:
    with psycopg.connect(book.access.url, autocommit=True) as connection:
        world = World(book, connection, seed)
        world.join()
        world.submit()
        steps = [world.submit, world.order, world.join, world.claim, world.leave, world.die, world.tidy]
        for step in world.chance.choices(steps, [5, 4, 1, 8, 6, 1, 2], k=100):
            step()
        world.end()
        records = book.change(orders.several, world.app, None, None, 1000)
        assert {record.spec.key for record in records} == set(world.keys)
        for numbers in world.begun.values():
            assert numbers == sorted(numbers)
