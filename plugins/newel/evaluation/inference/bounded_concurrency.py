"""Bounded concurrency: a limited number of jobs at once, each result as soon as it is ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import TypeVar

from newel_kernel import seam

T = TypeVar("T")
R = TypeVar("R")


async def as_done(items: Iterable[T], work: Callable[[T], Awaitable[R]], limit: int) -> AsyncGenerator[R, None]:
    """The result of `work` for each item, in the order in which they end; no more than `limit` run at once.

    The first failure cancels the rest. Items are taken one by one, so a long sequence costs no memory.
    """
    rest = iter(items)
    running: set[asyncio.Task[R]] = set()
    try:
        while True:
            while len(running) < limit and (item := next(rest, _NO_MORE)) is not _NO_MORE:
                running.add(seam.spawn(_awaited(work, item)))  # type: ignore[arg-type]
            if not running:
                return
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted((task for task in running if task.done()), key=_number):
                running.discard(task)
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        # Retrieves the other failures, too: asyncio reports an exception that was never retrieved.
        await asyncio.gather(*running, return_exceptions=True)


async def _awaited(work: Callable[[T], Awaitable[R]], item: T) -> R:
    return await work(item)


def _number(task: asyncio.Task[R]) -> tuple[int, str]:
    name = task.get_name()
    return len(name), name


_NO_MORE = object()
