"""Gates: no interleaving of visits and kills lets more in than the limit, keeps one out for ever, or loses a place."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

import pytest
from tests.plugins.limits.conftest import OpenGates

from newel.limits import Gates, Waiting
from newel.limits.gates import Turn, gate_id, turn_of
from newel.limits.memory import MemoryGates
from newel.sessions.stored import clockwork

GATE = gate_id("tenant", "t")
LONG = 3_600.0
SOON = Waiting(0.0, 0.01)
AWAY = Waiting(0.6, 10.0, soon=1.0)


def checked(open_gates: OpenGates, check: Callable[[Gates], Awaitable[None]]) -> None:
    """Run a check with new gates."""

    async def main() -> None:
        async with open_gates() as gates:
            await check(gates)

    asyncio.run(main())


@dataclass
class History:
    """What random visitors do at a gate, and what they must find."""

    chance: random.Random
    limit: int
    line: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)
    entered: list[str] = field(default_factory=list)
    number: int = 0

    async def step(self, gates: Gates) -> None:
        action = self.chance.random()
        if action < 0.3 and self.inside:
            gone = self.chance.choice(self.inside)
            await gates.leave(GATE, gone)
            self.inside.remove(gone)
            if self.chance.random() < 0.2:  # the answer was lost, and it leaves once more
                await gates.leave(GATE, gone)
        elif action < 0.4 and self.line:  # one gives its place in the line up
            gone = self.chance.choice(self.line)
            await gates.leave(GATE, gone)
            self.line.remove(gone)
        elif action < 0.7 and self.line:
            await self.ask(gates, self.chance.choice(self.line))
        else:
            self.number += 1
            self.line.append(f"v{self.number}")
            await self.ask(gates, self.line[-1])

    async def ask(self, gates: Gates, visitor: str) -> None:
        killed = self.chance.random() < 0.1
        turn = await gates.enter(GATE, visitor, self.limit, 0.0 if killed else LONG, SOON)
        ahead = len(self.inside) + self.line.index(visitor)
        assert turn.held == (ahead < self.limit), "the first come are the first served"
        if not turn.held:
            assert turn.ahead == ahead - self.limit + 1
            return
        self.line.remove(visitor)
        self.entered.append(visitor)
        if not killed:  # else its process is gone at once, and so is its place
            self.inside.append(visitor)
            assert (await gates.enter(GATE, visitor, self.limit, LONG, SOON)).held
            assert await gates.renew(GATE, visitor, LONG)
        assert len(self.inside) <= self.limit


@pytest.mark.parametrize("seed", range(5))
def test_the_first_come_are_the_first_served_and_never_more_than_the_limit(open_gates: OpenGates, seed: int) -> None:
    chance = random.Random(seed)
    history = History(chance, chance.choice((1, 2, 5)))

    async def check(gates: Gates) -> None:
        for _ in range(60):
            await history.step(gates)
        while history.inside or history.line:  # nobody waits for ever
            for visitor in list(history.inside):
                await gates.leave(GATE, visitor)
                history.inside.remove(visitor)
            for visitor in list(history.line):
                await history.ask(gates, visitor)
        assert len(set(history.entered)) == len(history.entered)

    checked(open_gates, check)


def test_visitors_at_once_are_never_more_than_the_limit_and_all_get_in(open_gates: OpenGates) -> None:
    now: set[int] = set()
    most = 0

    async def visit(gates: Gates, number: int) -> None:
        nonlocal most
        while not (turn := await gates.enter(GATE, f"v{number}", 3, LONG, Waiting(0.005, 0.05))).held:
            await asyncio.sleep(turn.seconds)
        now.add(number)
        most = max(most, len(now))
        await asyncio.sleep(0.005)
        now.discard(number)
        await gates.leave(GATE, f"v{number}")

    async def check(gates: Gates) -> None:
        async with asyncio.timeout(60):
            await asyncio.gather(*(visit(gates, number) for number in range(15)))
        assert 1 <= most <= 3

    checked(open_gates, check)


def test_a_place_that_has_lapsed_is_the_next_ones_and_its_holder_learns_it(open_gates: OpenGates) -> None:
    async def check(gates: Gates) -> None:
        assert (await gates.enter(GATE, "first", 1, 0.0, SOON)).held
        assert (await gates.enter(GATE, "second", 1, LONG, SOON)).held
        assert not await gates.renew(GATE, "first", LONG)
        assert not (await gates.enter(GATE, "first", 1, LONG, SOON)).held
        assert (await gates.enter("other", "first", 1, LONG, SOON)).held

    checked(open_gates, check)


def test_calls_begin_one_after_the_other_at_the_rate(open_gates: OpenGates) -> None:
    async def check(gates: Gates) -> None:
        seconds = await asyncio.gather(*(gates.pace(GATE, 0.01, 350.0) for _ in range(6)))
        taken = sorted(one for one in seconds if one is not None)
        assert [round(one / 100) for one in taken] == [0, 1, 2, 3]
        assert seconds.count(None) == 2
        assert await gates.pace("other", 5.0, 0.0) == 0.0

    checked(open_gates, check)


def test_one_that_is_away_keeps_no_place_free_and_is_first_when_it_is_back(open_gates: OpenGates) -> None:
    async def check(gates: Gates) -> None:
        async def ask(visitor: str) -> Turn:
            return await gates.enter(GATE, visitor, 1, LONG, AWAY)

        assert (await ask("first")).held
        turns = [await ask(name) for name in ("next", "second", "third")]
        assert [(turn.ahead, turn.away) for turn in turns] == [(1, False), (2, True), (3, True)]
        await gates.leave(GATE, "first")
        assert (await ask("next")).held
        await gates.leave(GATE, "next")
        assert (await ask("third")).held, "the place does not wait for the second"
        assert not (await ask("fourth")).away
        assert not (await ask("second")).away
        assert (await ask("fourth")).away, "the second is before it"
        await gates.leave(GATE, "third")
        assert (await ask("second")).held

    checked(open_gates, check)


def test_who_is_far_behind_asks_seldom() -> None:
    waiting = Waiting(0.25, 10.0)
    waits = [turn_of(line, line, 2, 1.0, waiting).seconds for line in (2, 5, 12, 1_000)]
    assert waits == [0.25, 1.0, 2.75, 10.0]
    assert turn_of(1_000, 4, 2, 0.0, AWAY).seconds == 10.0  # none has left yet
    assert turn_of(1_000, 2, 2, 1.0, AWAY) == (False, 999, 0.5, False)
    assert turn_of(1_001, 4, 2, 1.0, AWAY) == (False, 1_000, 100.1, True)
    assert turn_of(1_000, 2, 2, 0.1, AWAY, youngest=3.0).away, "those inside stay longer than others did"
    assert len(gate_id("model", "m" * 4_000)) < 150


def test_a_long_line_drains_as_fast_as_the_limit_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 runs of half a second, two at a time, behind an engine that brings each back a while too late."""
    drained = Drain(monkeypatch, seed=7).seconds(300, limit=2, takes=lambda _: 0.5)
    assert drained < 1.3 * 75
    chance = random.Random(1)
    lengths = [chance.choice((0.1, 0.1, 0.5, 3.0)) for _ in range(300)]
    drain = Drain(monkeypatch, seed=8)
    assert drain.seconds(300, limit=3, takes=lengths.__getitem__) < 1.3 * sum(lengths) / 3
    assert drain.asked < 12 * 300, "an engine that brings them back has little to do"


class Drain:
    """A line at a gate in time that only this test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self._now = 0.0
        self._chance = random.Random(seed)
        self._gates = MemoryGates()
        #: How often an engine brought one.
        self.asked = 0
        monkeypatch.setattr(clockwork, "elapsed", lambda: self._now)

    def seconds(self, runs: int, limit: int, takes: Callable[[int], float]) -> float:
        """How long the runs take."""
        return asyncio.run(self._drained(runs, limit, takes))

    async def _drained(self, runs: int, limit: int, takes: Callable[[int], float]) -> float:
        # What comes next: a run asks, or (True) leaves; most engines hand out a few in a second.
        coming = [(number / 50, number, False) for number in range(runs)]
        at_gate: set[int] = set()
        inside = 0
        while coming:
            self._now, run, leaves = heappop(coming)
            if leaves:
                inside -= 1
                await self._gates.leave(GATE, str(run))
                continue
            self.asked += run not in at_gate
            turn = await self._gates.enter(GATE, str(run), limit, LONG, AWAY)
            at_gate.discard(run)
            if turn.held:
                inside += 1
                assert inside <= limit
                heappush(coming, (self._now + takes(run), run, True))
            elif turn.away:
                heappush(coming, (self._now + turn.seconds + self._chance.uniform(0.2, 1.2), run, False))
            else:
                at_gate.add(run)
                heappush(coming, (self._now + 0.05, run, False))
        return self._now
