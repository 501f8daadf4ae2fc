"""Owned: one task holds a connection; whoever cancels, closes or is late never enters or leaves its scopes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.connections.owned import ConnectionEndedError, Owned


def in_a_loop(test: Callable[..., Any]) -> Callable[..., None]:
    @wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


class Line:
    """A connection as the SDKs make them: a task group that only the task that entered it may leave."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any] | None] = []
        self.done: list[str] = []
        self.told: list[str] = []
        self.group: anyio.abc.TaskGroup | None = None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Line, None]:
        self.tasks.append(asyncio.current_task())
        try:
            async with anyio.create_task_group() as self.group:
                self.group.start_soon(anyio.sleep_forever)
                yield self
                self.group.cancel_scope.cancel()
        finally:
            self.tasks.append(asyncio.current_task())

    async def ask(self, word: str, seconds: float = 0.0) -> str:
        """An answer; one who is cancelled tells so, which takes a moment."""
        try:
            with anyio.CancelScope():
                await anyio.sleep(seconds)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.001)
            self.told.append(word)
            raise
        self.done.append(word)
        return word


def asking(word: str, seconds: float = 0.0) -> Callable[[Line], Any]:
    return lambda line: line.ask(word, seconds)


@in_a_loop
async def test_work_is_done_and_the_owner_alone_enters_and_leaves() -> None:
    line = Line()
    owned = Owned(line.open, name="line")
    assert await asyncio.gather(*(owned.call(asking(str(i))) for i in range(5))) == list("01234")
    assert not owned.ended
    await asyncio.create_task(owned.close())
    assert owned.gone
    assert line.tasks[0] is line.tasks[1] is not asyncio.current_task()


@in_a_loop
async def test_a_cancelled_caller_leaves_at_once_and_its_work_is_told() -> None:
    line = Line()
    owned = Owned(line.open, name="line")
    caller = asyncio.create_task(owned.call(asking("slow", 60)))
    await asyncio.sleep(0.01)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await asyncio.sleep(0.01)
    assert line.told == ["slow"]
    assert await owned.call(asking("next")) == "next"
    await owned.close()


@in_a_loop
async def test_closing_ends_the_work_first() -> None:
    line = Line()
    owned = Owned(line.open, name="line")
    callers = [asyncio.create_task(owned.call(asking(str(i), 60))) for i in range(3)]
    await asyncio.sleep(0.01)
    await owned.close()
    problems = await asyncio.gather(*callers, return_exceptions=True)
    assert sorted(line.told) == ["0", "1", "2"]
    assert all(isinstance(one, ConnectionEndedError) and one.begun for one in problems)
    with pytest.raises(ConnectionEndedError) as late:
        await owned.call(asking("late"))
    assert not late.value.begun


@in_a_loop
async def test_a_connection_that_fails_ends_its_work_and_says_why() -> None:
    line = Line()
    owned = Owned(line.open, name="line")

    async def fail() -> None:
        raise OSError("cut")

    caller = asyncio.create_task(owned.call(asking("slow", 60)))
    await asyncio.sleep(0.01)
    assert line.group is not None
    line.group.start_soon(fail)
    with pytest.raises(ConnectionEndedError):
        await caller
    await owned.wait()
    assert str(owned.failure) == "cut"


@in_a_loop
async def test_what_opening_raises_reaches_every_caller() -> None:
    @asynccontextmanager
    async def broken() -> AsyncGenerator[Line, None]:
        await asyncio.sleep(0.01)
        raise OSError("no line")
        yield

    owned = Owned(broken, name="line")
    problems = await asyncio.gather(*(owned.call(asking("x")) for _ in range(3)), return_exceptions=True)
    assert [str(one) for one in problems] == ["no line"] * 3


@in_a_loop
async def test_an_owner_that_does_not_leave_is_cancelled() -> None:
    left = asyncio.Event()

    @asynccontextmanager
    async def stuck() -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            try:
                await asyncio.sleep(60)
            finally:
                left.set()

    owned = Owned(stuck, name="line", patience=0.05)
    await owned.ready()
    await owned.close()
    assert left.is_set()
    assert owned.gone


def test_another_thread_closes_it() -> None:
    line = Line()
    made: list[Owned[Line]] = []
    ready, closed = threading.Event(), threading.Event()

    async def hold() -> None:
        made.append(Owned(line.open, name="line"))
        await made[0].ready()
        ready.set()
        while not closed.is_set():
            await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: asyncio.run(hold()))
    thread.start()
    ready.wait()
    asyncio.run(made[0].close())
    assert made[0].gone
    closed.set()
    thread.join()
    asyncio.run(made[0].close())  # its loop is no more


def test_the_end_of_a_loop_leaves_nothing() -> None:
    line = Line()

    async def leave_open() -> None:
        owned = Owned(line.open, name="line")
        await owned.call(asking("x"))

    asyncio.run(leave_open())
    assert len(line.tasks) == 2


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 0.01), st.floats(0, 0.01)), min_size=1, max_size=20), st.floats(0, 0.02))
def test_whatever_is_cancelled_when_nothing_is_left_and_each_work_is_done_or_told(
    calls: list[tuple[float, float]], closed_after: float
) -> None:
    async def main() -> None:
        problems: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        line = Line()
        owned = Owned(line.open, name="line")
        begun = []

        async def one(word: str, lasts: float, patience: float) -> None:
            def work(line: Line) -> Any:
                begun.append(word)
                return line.ask(word, lasts)

            await asyncio.wait_for(owned.call(work), patience)

        tasks = [asyncio.create_task(one(str(i), *call)) for i, call in enumerate(calls)]
        await asyncio.sleep(closed_after)
        await owned.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert set(line.done) | set(line.told) <= set(begun)
        assert not set(line.done) & set(line.told)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert not problems

    asyncio.run(main())
