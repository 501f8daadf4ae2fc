"""A call that is interrupted when it waits for the n-th time: for checks of what a cancellation or a crash leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from functools import partial
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")
#: How many awaits of one call are interrupted at most.
MOST_WAITS = 40


@coroutine
def watched(call: Coroutine[Any, Any, T], waits_for: Callable[[int], object]) -> Generator[Any, Any, T]:
    """Await `call`, and call `waits_for` whenever it begins to wait, with the number of the wait, from 0."""
    step, waits = partial(call.send, None), 0
    while True:
        try:
            waited = step()
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        waits_for(waits)
        waits += 1
        try:
            step = partial(call.send, (yield waited))
        except BaseException as error:  # noqa: BLE001 - a cancellation too is the call's to handle
            step = partial(call.throw, error)


async def cancelled_at_each_await(call: Callable[[], Coroutine[Any, Any, T]]) -> AsyncIterator[asyncio.Task[T]]:
    """Make the call again and again: cancelled at its first await, its second, ..., and once to its end.

    Yields the finished task of each.
    """
    for at in range(MOST_WAITS):
        waits: list[int] = []
        task = asyncio.ensure_future(_cancelled(call, at, waits))
        await asyncio.wait([task])
        yield task
        if at not in waits:
            return


async def _cancelled(call: Callable[[], Coroutine[Any, Any, T]], at: int, waits: list[int]) -> T:
    task = asyncio.current_task()
    assert task is not None

    def waits_for(number: int) -> None:
        waits.append(number)
        if number == at:
            task.cancel()

    return await watched(call(), waits_for)
