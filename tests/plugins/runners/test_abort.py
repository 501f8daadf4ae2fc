"""abort_signal ends a run as a cancellation does; its events just end."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from newel.policies.pairing import CANCELLED
from newel.runs.abort import abortable
from newel_kernel import Event

CALL = {"call": "wait"}


async def wait() -> str:
    """Wait for a long time."""
    await asyncio.sleep(30)
    return "done"


@pytest.mark.parametrize("make", [asyncio.Event, threading.Event])
def test_a_signal_cancels_what_runs(make: Any, talk: Any, told: Any) -> None:
    async def main() -> None:
        signal = make()

        async def wait() -> None:
            """Wait for a long time, and be aborted."""
            signal.set()
            await asyncio.sleep(30)

        one = talk([CALL, "again"], [wait])
        events = await asyncio.wait_for(one.send(abort_signal=signal), 60)
        assert len(events) == 1
        assert told(await one.stored()) == ["hello", "call:wait", {"error": CANCELLED}]
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        assert len(await one.send("go on")) == 1
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_signal_between_two_events_ends_the_run(talk: Any, told: Any) -> None:
    async def main() -> None:
        signal = asyncio.Event()
        one = talk([CALL], [wait])
        async for _ in one.start(abort_signal=signal):
            signal.set()
            await asyncio.sleep(0.01)  # nothing of the caller's own is cancelled
        assert told(await one.stored())[-1] == {"error": CANCELLED}

    asyncio.run(main())


def test_a_signal_that_was_set_before_runs_nothing(talk: Any) -> None:
    async def main() -> None:
        signal = asyncio.Event()
        signal.set()
        one = talk(["never"])
        assert await one.send(abort_signal=signal) == []
        assert one.model.requests == []

    asyncio.run(main())


def test_a_run_without_an_abort_is_as_ever(talk: Any) -> None:
    async def main() -> None:
        one = talk(["fine"])
        assert len(await one.send(abort_signal=asyncio.Event())) == 1
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_cancelled_task_stays_cancelled(talk: Any) -> None:
    async def main() -> None:
        task = asyncio.create_task(talk([CALL], [wait]).send(abort_signal=asyncio.Event()))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_step_that_outlives_the_abort_is_the_last() -> None:
    async def stubborn() -> Any:
        while True:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                yield Event(author="x")

    async def main() -> None:
        signal = asyncio.Event()
        asyncio.get_running_loop().call_later(0.01, signal.set)
        assert len([event async for event in abortable(stubborn(), signal)]) == 1
        await asyncio.sleep(0)

    asyncio.run(main())
