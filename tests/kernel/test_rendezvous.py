"""The rendezvous: several producers, one stream; each goes on only when its event was committed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import pytest

from newel_kernel import Event, Meeting, merge_streams


class Producers:
    """Makes producers, and notes what each does."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def make(self, name: str, count: int = 3, error: BaseException | None = None, pause: float = 0) -> Any:
        try:
            for number in range(count):
                await asyncio.sleep(pause)
                self.log.append(f"{name}{number} made")
                yield Event(author=name, message=f"{name}{number}")
                self.log.append(f"{name}{number} resumed")
            if error is not None:
                raise error
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            self.log.append(f"{name} cancelled")
            raise
        finally:
            self.log.append(f"{name} closed")


def run(body: Callable[[Producers], Awaitable[None]]) -> list[str]:
    async def whole() -> list[str]:
        producers = Producers()
        await body(producers)
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
        return producers.log

    return asyncio.run(whole())


def names(events: list[Event]) -> list[str]:
    return [str(event.content.parts[0].text) for event in events]  # type: ignore[union-attr,index]


def test_all_events_come_each_producers_in_order() -> None:
    async def body(producers: Producers) -> None:
        made = [producers.make("a"), producers.make("b", 5), producers.make("c", 0)]
        got = names([e async for e in merge_streams(made)])
        assert sorted(got) == ["a0", "a1", "a2", "b0", "b1", "b2", "b3", "b4"]
        assert [n for n in got if n[0] == "a"] == ["a0", "a1", "a2"]

    assert sorted(entry for entry in run(body) if "closed" in entry) == ["a closed", "b closed", "c closed"]


def test_no_producers_no_events() -> None:
    async def body(producers: Producers) -> None:
        assert [e async for e in merge_streams([])] == []

    run(body)


def test_a_producer_goes_on_only_after_the_consumer_came_back() -> None:
    async def body(producers: Producers) -> None:
        async for event in merge_streams([producers.make("a"), producers.make("b")]):
            (name,) = names([event])
            for _ in range(5):  # the commit takes its time
                await asyncio.sleep(0)
                assert f"{name} resumed" not in producers.log
            producers.log.append(f"{name} committed")

    log = run(body)
    for name in ("a0", "a1", "a2", "b0", "b1", "b2"):
        assert log.index(f"{name} made") < log.index(f"{name} committed") < log.index(f"{name} resumed")


def test_producers_run_side_by_side() -> None:
    async def body(producers: Producers) -> None:
        async with asyncio.timeout(60):
            made = [producers.make(name, 1, pause=0.05) for name in "abcdefgh"]
            assert len([e async for e in merge_streams(made)]) == 8

    run(body)


def test_a_failure_cancels_the_others_and_awaits_them() -> None:
    async def body(producers: Producers) -> None:
        others = [producers.make("b", 1, pause=60), producers.make("c", 9, pause=60)]
        with pytest.raises(ValueError, match="spilt"):
            async for _ in merge_streams([producers.make("a", 1, ValueError("spilt")), *others]):
                pass

    log = run(body)
    assert {"b cancelled", "b closed", "c cancelled", "c closed"} <= set(log)
    assert "a0 resumed" in log


def test_what_was_offered_before_a_failure_is_still_delivered() -> None:
    async def body(producers: Producers) -> None:
        got: list[Event] = []
        with pytest.raises(ValueError, match="spilt"):  # noqa: PT012
            async for event in merge_streams([producers.make("a", 2), producers.make("b", 0, ValueError("spilt"))]):
                got.append(event)
        assert names(got)[:1] == ["a0"]

    run(body)


def test_of_two_failures_the_first_producers_is_raised() -> None:
    async def body(producers: Producers) -> None:
        for _ in range(20):
            failing = [producers.make("a", 0, ValueError("first")), producers.make("b", 0, KeyError("second"))]
            with pytest.raises(ValueError, match="first"):
                async for _ in merge_streams(failing):
                    pass

    run(body)


def test_leaving_early_closes_every_producer() -> None:
    async def body(producers: Producers) -> None:
        async with aclosing(merge_streams([producers.make("a", 9), producers.make("b", 9, pause=60)])) as events:
            async for _ in events:
                break

    log = run(body)
    assert {"a closed", "b closed", "b cancelled"} <= set(log)
    assert "a0 resumed" not in log


def test_closing_before_the_first_event_starts_nothing() -> None:
    async def body(producers: Producers) -> None:
        events = merge_streams([producers.make("a")])
        await events.aclose()

    assert run(body) == []


def test_cancelling_the_consumer_cancels_every_producer() -> None:
    async def body(producers: Producers) -> None:
        async def consume() -> None:
            async for _ in merge_streams([producers.make("a", 1, pause=60), producers.make("b", 2, pause=60)]):
                pass

        task = asyncio.create_task(consume())
        for _ in range(20):  # rounds of the loop, in which every producer has begun, however slow the machine
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert {"a cancelled", "a closed", "b cancelled", "b closed"} <= set(run(body))


def test_a_consumer_that_fails_at_the_commit_stops_every_producer() -> None:
    async def body(producers: Producers) -> None:
        with pytest.raises(OSError, match="disk full"):  # noqa: PT012
            async with aclosing(merge_streams([producers.make("a"), producers.make("b")])) as events:
                async for _ in events:
                    raise OSError("disk full")

    log = run(body)
    assert {"a closed", "b closed"} <= set(log)
    assert not [entry for entry in log if "resumed" in entry]


def test_a_producer_can_leave_further_events_while_it_makes_one() -> None:
    async def main() -> None:
        meeting = Meeting()
        committed: list[str] = []

        async def aside() -> AsyncGenerator[Event, None]:
            for name in ("a1", "a2"):
                yield Event(author=name)
                assert committed[-1] == name

        async def producer() -> AsyncGenerator[Event, None]:
            yield Event(author="first")
            await meeting.produce(aside())
            yield Event(author="last")

        async with aclosing(merge_streams([producer()], meeting)) as events:
            async for event in events:
                committed.append(event.author)
        assert committed == ["first", "a1", "a2", "last"]

    asyncio.run(main())


async def swallows(name: str) -> AsyncGenerator[Event, None]:
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    yield Event(author=name)


async def yields_at_its_cancellation(name: str) -> AsyncGenerator[Event, None]:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        yield Event(author=name)
        yield Event(author=name)
        raise


async def fails_and_is_told(name: str) -> AsyncGenerator[Event, None]:
    try:
        try:
            await asyncio.Event().wait()
        finally:
            raise ConnectionError("close failed")
    except ConnectionError:
        yield Event(author=name)
        raise


STUBBORN = pytest.mark.parametrize("stubborn", [swallows, yields_at_its_cancellation, fails_and_is_told])


@STUBBORN
def test_a_failure_ends_those_that_offer_events_at_their_cancellation(stubborn: Any) -> None:
    async def body(producers: Producers) -> None:
        async def consume() -> None:
            made = [producers.make("a", 0, ValueError("spilt"), 0.01), stubborn("b"), stubborn("c")]
            async for event in merge_streams(made):
                raise AssertionError(event.author)

        with pytest.raises(ValueError, match="spilt"):
            await asyncio.wait_for(consume(), 60)

    run(body)


@STUBBORN
def test_a_cancelled_consumer_ends_those_that_offer_events_then(stubborn: Any) -> None:
    async def body(producers: Producers) -> None:
        async def consume() -> None:
            async for _ in merge_streams([merge_streams([stubborn("a"), stubborn("b")]), stubborn("c")]):
                pass

        task = asyncio.create_task(consume())
        for _ in range(20):  # rounds of the loop, in which every producer has begun, however slow the machine
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=60)
        assert done
        assert task.cancelled()

    run(body)


def test_once_the_consumer_is_gone_nobody_waits_for_it() -> None:
    async def main() -> None:
        meeting = Meeting()

        async def aside() -> AsyncGenerator[Event, None]:
            yield Event(author="aside")

        async def producer() -> AsyncGenerator[Event, None]:
            yield Event(author="first")

        waits: asyncio.Task[None] | None = None
        async with aclosing(merge_streams([producer()], meeting)) as events:
            async for _ in events:
                waits = asyncio.create_task(meeting.produce(aside()))
                await asyncio.sleep(0)
                break
        assert waits is not None
        comes_late = asyncio.create_task(meeting.produce(aside()))
        done, _ = await asyncio.wait([waits, comes_late], timeout=60)
        assert done == {waits, comes_late}
        assert waits.cancelled()
        assert comes_late.cancelled()

    asyncio.run(main())


def test_neither_does_anybody_whose_event_it_left_with_or_left_behind() -> None:
    async def main() -> None:
        meeting = Meeting()
        waits = [asyncio.create_task(meeting.produce(one(name))) for name in "ab"]
        await asyncio.sleep(0)
        async with aclosing(merge_streams([], meeting)) as events:
            assert (await anext(events)).author == "a"
        done, _ = await asyncio.wait(waits, timeout=60)
        assert done == set(waits)
        assert all(wait.cancelled() for wait in waits)

    async def one(name: str) -> AsyncGenerator[Event, None]:
        yield Event(author=name)

    asyncio.run(main())
