"""Waiting: one at a time, in order, whoever is cancelled meanwhile."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from newel.live.waiting import OneAtATime


async def _visits(steps: list[int], cancelled: set[int]) -> tuple[list[str], OneAtATime]:
    """What visitors note who stay for so many turns of the loop each; some are cancelled at a turn of theirs."""
    one, notes = OneAtATime(), []

    async def visit(number: int) -> None:
        if not one.enter_now():
            await one.enter()
        notes.append(f"in {number}")
        try:
            for _ in range(steps[number]):
                await asyncio.sleep(0)
        finally:
            notes.append(f"out {number}")
            one.leave()

    visitors = [asyncio.create_task(visit(number)) for number in range(len(steps))]
    for turn in range(sum(steps) + 3 * len(steps)):
        await asyncio.sleep(0)
        for number, visitor in enumerate(visitors):
            if number * 2 + 1 == turn and number in cancelled:
                visitor.cancel()
    _, left = await asyncio.wait(visitors, timeout=60)
    assert not left, "somebody waits for ever"
    return notes, one


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.sets(st.integers(0, 5)))
def test_one_is_inside_at_a_time_in_order(steps: list[int], cancelled: set[int]) -> None:
    notes, one = asyncio.run(_visits(steps, cancelled))
    inside = [note.removeprefix("in ") for note in notes[::2]]
    assert notes == [note for number in inside for note in (f"in {number}", f"out {number}")]
    assert [int(number) for number in inside] == sorted(map(int, inside))
    assert {int(number) for number in inside} >= set(range(len(steps))) - cancelled
    assert one.enter_now(), "nobody is inside, and nobody gets in"


def test_whose_turn_comes_as_it_is_cancelled_lets_the_next_one_in() -> None:
    async def run() -> list[str]:
        one, notes = OneAtATime(), []

        async def visit(name: str) -> None:
            await one.enter()
            notes.append(name)
            one.leave()

        assert one.enter_now()
        first, second = asyncio.create_task(visit("first")), asyncio.create_task(visit("second"))
        await asyncio.sleep(0)
        one.leave()  # it is the first one's turn, who does not know yet
        first.cancel()
        await asyncio.wait([first, second], timeout=60)
        assert second.done()
        return notes

    assert asyncio.run(run()) == ["second"]
