"""Stepping: calls that are cancelled while they wait for their step."""

from __future__ import annotations

import asyncio

from newel.engines import Stepping
from newel.engines.stepping import Call


def test_a_call_that_is_cancelled_as_its_step_begins_keeps_nothing_from_the_others() -> None:
    async def main() -> None:
        stepping, done = Stepping(), []

        async def call(name: str) -> None:
            await stepping.enter(Call("tool", name))
            try:
                done.append(name)
            finally:
                stepping.leave()

        async with asyncio.timeout(10):
            tasks = [asyncio.create_task(call(name)) for name in ("first", "second", "third")]
            await stepping.stopped()
            tasks[0].cancel()  # its future is cancelled now, and the call knows it only later
            stepping.go_on()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert done == ["second", "third"]
            late = asyncio.create_task(call("later"))
            await stepping.stopped()
            assert [one.name for one in stepping.waiting] == ["later"]  # nothing counts as under way
            late.cancel()
            await asyncio.gather(late, return_exceptions=True)
            waits = asyncio.create_task(stepping.stopped())
            tasks = [asyncio.create_task(call("cut"))]
            await asyncio.sleep(0)
            tasks[0].cancel()
            await asyncio.sleep(0.01)
            assert not waits.done()  # nothing waits any more
            waits.cancel()

    asyncio.run(main())
