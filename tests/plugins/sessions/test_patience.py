"""An operation of a store has one patience, whatever number of reads, writes and retries it consists of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from newel.sessions import SqliteSessionService
from newel.sessions.errors import StoreUnavailableError
from newel.sessions.stored import patience
from newel.sessions.stored.committer import Committer, Item
from newel.sessions.stored.patience import OnePatience, patience_ends
from newel_kernel import Event, StaleSessionError

S1 = {"app_name": "a", "user_id": "u", "session_id": "s1"}


class Noting:
    """A database that notes until when each read and write may wait, and lets the first writes come too late."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.ends: list[float] = []
        self.stale = 0

    async def read(self, question: Any) -> Any:
        self.ends.append(patience_ends(15.0))
        await asyncio.sleep(0.01)
        return await self._database.read(question)

    async def commit(self, write: Any, then: Any = None) -> Any:
        self.ends.append(patience_ends(15.0))
        await asyncio.sleep(0.01)
        if self.stale:
            self.stale -= 1
            raise StaleSessionError("another has written")
        return await self._database.commit(write, then)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


async def _append(service: SqliteSessionService) -> None:
    session = await service.open(**S1)
    assert session is not None
    await service.append_event(session, Event(author="x", message="x"))


OPERATIONS: dict[str, tuple[int, Callable[[SqliteSessionService], Awaitable[object]]]] = {
    "a note": (7, lambda service: service.append_out_of_band(**S1, event=Event(author="x", message="x"))),
    "a fork": (3, lambda service: service.fork(**S1)),
    "a claim": (3, lambda service: service.claim(**S1, owner="me", ttl=5.0)),
    "a copy": (2, lambda service: service.get_session(**S1)),
    "an opening": (2, lambda service: service.open(**S1)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_one_patience(name: str, tmp_path: Path) -> None:
    least, operation = OPERATIONS[name]

    async def run() -> None:
        async with (
            SqliteSessionService(tmp_path / "s.db") as writes,
            SqliteSessionService(tmp_path / "s.db") as service,
        ):
            session = await writes.create_session(**S1)
            await writes.append_event(session, Event(author="x", message="x"))
            noting: list[Noting] = []
            service.reach(lambda database: noting.append(Noting(database)) or noting[0])  # type: ignore[func-returns-value, return-value]
            noting[0].stale = 3 if name == "a note" else 0
            await operation(service)
            assert len(noting[0].ends) >= least
            assert len(set(noting[0].ends)) == 1
            await operation(service)
            assert len(set(noting[0].ends)) == 2

    asyncio.run(run())


def test_an_append_has_one_patience_for_its_retries(tmp_path: Path) -> None:
    async def run() -> None:
        async with SqliteSessionService(tmp_path / "s.db") as service:
            noting: list[Noting] = []
            service.reach(lambda database: noting.append(Noting(database)) or noting[0])  # type: ignore[func-returns-value, return-value]
            session = await service.create_session(**S1)
            noting[0].ends.clear()
            noting[0].stale = 4
            await service.append_event(session, Event(author="x", message="x"))
            assert len(noting[0].ends) == 9
            assert len(set(noting[0].ends)) == 1

    asyncio.run(run())


def test_a_task_that_outlives_its_operation_has_a_patience_of_its_own() -> None:
    async def run() -> None:
        over = asyncio.Event()

        async def later() -> float:
            await over.wait()
            with OnePatience():
                return patience_ends(0.0)

        with OnePatience():
            begin = patience_ends(0.0)
            task = asyncio.create_task(later())
            await asyncio.sleep(0.02)
            assert patience_ends(0.0) == begin
        over.set()
        assert await task > begin + 0.01
        assert patience_ends(0.0) > begin + 0.01

    asyncio.run(run())


class AnyWrite:
    def __init__(self, key: str) -> None:
        self.key = key


def test_a_write_that_comes_later_may_be_over_first() -> None:
    """A retry waits for what is left of its operation's patience, behind writes that have all of theirs."""

    async def run() -> None:
        free = asyncio.Event()

        async def commit(items: list[Item]) -> None:
            await free.wait()
            for item in items:
                item.outcome.set_result(None)

        committer = Committer(commit, commit, 1, 2.4, lambda: StoreUnavailableError("late"))
        with OnePatience():
            await asyncio.sleep(1.6)
            under_way = committer.submit(AnyWrite("a"))  # type: ignore[arg-type]
            await asyncio.sleep(0)
        second = committer.submit(AnyWrite("b"))  # type: ignore[arg-type]
        with OnePatience():
            await asyncio.sleep(0.6)
            third = committer.submit(AnyWrite("c"))  # type: ignore[arg-type]
            begin = asyncio.get_running_loop().time()
            with pytest.raises(StoreUnavailableError):
                await third
            assert asyncio.get_running_loop().time() - begin < 2.2
        with pytest.raises(StoreUnavailableError):
            await second
        free.set()
        await under_way

    asyncio.run(run())


def test_a_write_that_waits_for_one_of_its_session_is_over_first() -> None:
    """A worker is free, and leaves it in the queue: its wait ends in time, though another one's was to end later."""

    async def run() -> None:
        free = asyncio.Event()

        async def commit(items: list[Item]) -> None:
            await free.wait()
            for item in items:
                item.outcome.set_result(None)

        committer = Committer(commit, commit, 2, 60.0, lambda: StoreUnavailableError("late"))
        under_way, behind = (committer.submit(AnyWrite("a")) for _ in range(2))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        with OnePatience():
            block = patience._current.get()
            assert block is not None
            block.since -= 60.0  # it has waited so long
            late = committer.submit(AnyWrite("a"))  # type: ignore[arg-type]
        done, _ = await asyncio.wait([late], timeout=20)
        free.set()
        await asyncio.gather(under_way, behind)
        assert late in done
        assert isinstance(late.exception(), StoreUnavailableError)

    asyncio.run(run())
