"""A wait that is over and a cancellation of its task may come in the same moment: the cancellation is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from newel.agents import LlmAgent
from newel.claims.claim import Claim
from newel.runs import close_all
from newel_kernel import Admission


class _Closing:
    """A plugin whose closing takes until it is told to end."""

    def __init__(self) -> None:
        self.told = asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        await self.told


def _a_claim() -> tuple[Coroutine[Any, Any, object], Callable[[], object]]:
    table: dict[Any, Claim] = {}
    admission = cast(Admission, type("Unheld", (), {"held": None}))
    claim = table["s"] = Claim(table, "s", admission)
    return claim.ended(10.0), claim.end


def _a_closing() -> tuple[Coroutine[Any, Any, object], Callable[[], object]]:
    plugin = _Closing()
    return close_all(LlmAgent(name="a", model="none"), [plugin], 10.0), lambda: plugin.told.set_result(None)


@pytest.mark.parametrize("turns", range(5))
@pytest.mark.parametrize("wait", [_a_claim, _a_closing])
def test_a_cancellation_that_comes_with_the_end_is_heard(wait: Any, turns: int) -> None:
    async def main() -> None:
        waits, end = wait()
        task = asyncio.create_task(waits)
        await asyncio.sleep(0.01)
        end()
        for _ in range(turns):
            await asyncio.sleep(0)
        is_cancelled = task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() == is_cancelled

    asyncio.run(main())
