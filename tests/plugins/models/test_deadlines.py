"""Deadline: its cancellation is taken back, whatever a model makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from newel.connections.deadlines import Deadline, DeadlineError


async def _next(deadline: Deadline, items: AsyncGenerator[Any, None]) -> Any:
    with deadline:
        return await anext(items)


async def hangs() -> AsyncGenerator[str, None]:
    await asyncio.Event().wait()
    yield "never"


async def says_otherwise() -> AsyncGenerator[str, None]:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise RuntimeError("connection lost") from None
    yield "never"


async def swallows() -> AsyncGenerator[str, None]:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        yield "late"


@pytest.mark.parametrize(("model", "error"), [(hangs, DeadlineError), (says_otherwise, RuntimeError), (swallows, None)])
def test_the_task_is_not_left_cancelled(model: object, error: type[Exception] | None) -> None:
    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        deadline, items = Deadline(0.01), model()  # type: ignore[operator]
        if error is None:
            assert await _next(deadline, items) == "late"
            with pytest.raises(DeadlineError):
                await _next(deadline, items)
        else:
            with pytest.raises(error):
                await _next(deadline, items)
        assert task.cancelling() == 0
        await items.aclose()
        deadline.close()

    asyncio.run(run())
