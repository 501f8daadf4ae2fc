"""Ledgers: no interleaving of calls and kills overdraws an account by more than one call, or refuses what is left."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from newel.budgets import Account, Claim, Ledger, Verdict, ledger_of
from newel.budgets.ledger import HELD, in_order
from newel_compose import compose
from newel_kernel import BaseSessionService

Make = Callable[[], BaseSessionService]
MONEY, CALLS, USER = '["app", "shop"]', '["session", "shop", "u", "s"]', '["user", "shop", "u"]'
LONG = 3_600.0


def checked(make: Make, check: Callable[[Ledger], Awaitable[None]]) -> None:
    """Run a check with the ledger of a new service."""

    async def main() -> None:
        async with ledger(make) as opened:
            await check(opened)

    asyncio.run(main())


@asynccontextmanager
async def ledger(make: Make) -> AsyncIterator[Ledger]:
    service: Any = make()
    try:
        yield ledger_of(compose("standard"), service)
    finally:
        await service.close()


@dataclass
class Call:
    """A call under way: what it may cost, and what it does cost."""

    hold: str
    claims: list[Claim]
    cost: int
    settled: bool = False


@dataclass
class History:
    """What random callers do with two accounts, and what they must find."""

    chance: random.Random
    limits: dict[str, int]
    under_way: list[Call] = field(default_factory=list)
    spent: dict[str, list[int]] = field(default_factory=lambda: {MONEY: [], USER: []})
    number: int = 0

    def new_call(self) -> Call:
        self.number += 1
        most = self.chance.choice((1, 3, 10, 40))
        accounts = self.chance.choice(([MONEY], [USER], [MONEY, USER]))
        claims = [Claim(account, "money", self.limits[account], most) for account in accounts]
        return Call(f"h{self.number}", claims, self.chance.randint(0, most))

    def end(self, call: Call, cost: int) -> None:
        for claim in call.claims:
            self.spent[claim.account].append(cost)
        if call in self.under_way:
            self.under_way.remove(call)

    def check(self, verdict: Verdict) -> None:
        """A refusal is right only if nothing is left; a wait, only if another call is under way."""
        claim = verdict.claim
        assert claim is not None
        left = self.limits[claim.account] - sum(self.spent[claim.account])
        assert (left <= 0) == (verdict.state == "refused")
        if verdict.state == "waits":
            assert any(claim.account == other.account for call in self.under_way for other in call.claims)

    def check_bounds(self) -> None:
        """Without the dearest call, each account is within its limit."""
        for account, limit in self.limits.items():
            assert sum(self.spent[account]) - max(self.spent[account], default=0) <= limit

    async def step(self, ledger: Ledger) -> None:
        action = self.chance.random()
        if self.under_way and action < 0.4:
            call = self.chance.choice(self.under_way)
            await ledger.settle(call.hold, call.claims, {"money": call.cost})
            self.end(call, call.cost)
            if self.chance.random() < 0.2:  # the answer was lost, and it is settled once more
                await ledger.settle(call.hold, call.claims, {"money": call.cost})
            return
        call = self.new_call()
        killed = action > 0.9
        verdict = await ledger.reserve(call.hold, call.claims, 0.0 if killed else LONG)
        if verdict.state != "held":
            self.check(verdict)
        elif killed:  # its process is gone at once: what the ledger held counts as spent
            self.end(call, call.claims[0].amount)
        else:
            assert await ledger.reserve(call.hold, call.claims, LONG) == HELD
            self.under_way.append(call)


@pytest.mark.parametrize("seed", range(8))
def test_no_interleaving_overdraws_by_more_than_a_call_or_refuses_what_is_left(make_sessions: Make, seed: int) -> None:
    chance = random.Random(seed)
    history = History(chance, {MONEY: chance.choice((5, 60)), USER: chance.choice((20, 100))})

    async def check(ledger: Ledger) -> None:
        for _ in range(40):
            await history.step(ledger)
            history.check_bounds()
        for call in list(history.under_way):
            await ledger.settle(call.hold, call.claims, {"money": call.cost})
            history.end(call, call.cost)
        history.check_bounds()
        shown = {account.id: account.spent for account in await ledger.accounts()}
        assert shown == {name: sum(costs) for name, costs in history.spent.items() if name in shown}

    checked(make_sessions, check)


def test_an_account_lets_the_last_call_begin_alone_and_no_other_beside_it(make_sessions: Make) -> None:
    async def check(ledger: Ledger) -> None:
        claims = [Claim(MONEY, "money", 10, 8)]
        assert await ledger.reserve("first", claims, LONG) == HELD
        assert await ledger.reserve("second", claims, LONG) == Verdict("waits", claims[0])
        await ledger.settle("first", claims, {"money": 9})
        assert await ledger.reserve("second", claims, LONG) == HELD  # one is left, and nobody else is under way
        await ledger.settle("second", claims, {"money": 8})
        assert await ledger.reserve("third", claims, LONG) == Verdict("refused", claims[0], spent=17)

    checked(make_sessions, check)


def test_a_call_that_was_not_made_is_given_back(make_sessions: Make) -> None:
    async def check(ledger: Ledger) -> None:
        claims = [Claim(CALLS, "calls", 1, 1)]
        for attempt in ("first", "second"):
            assert await ledger.reserve(attempt, claims, LONG) == HELD
            await ledger.settle(attempt, claims, {})
        assert await ledger.accounts() == [Account(CALLS, "calls", spent=0, held=0, raised=0, limit=1)]

    checked(make_sessions, check)


def test_a_hold_that_is_not_renewed_counts_as_spent_and_a_late_settlement_corrects_it(make_sessions: Make) -> None:
    async def check(ledger: Ledger) -> None:
        claims = [Claim(MONEY, "money", 10, 10)]
        assert await ledger.reserve("killed", claims, 0.0) == HELD
        assert await ledger.reserve("next", claims, LONG) == Verdict("refused", claims[0], spent=10)
        await ledger.settle("killed", claims, {"money": 2})
        assert await ledger.reserve("next", claims, LONG) == HELD
        await ledger.settle("next", claims, {"money": 1})
        assert [one.spent for one in await ledger.accounts()] == [3]

    checked(make_sessions, check)


def test_a_renewed_hold_stays(make_sessions: Make) -> None:
    async def check(ledger: Ledger) -> None:
        claims = [Claim(MONEY, "money", 10, 10)]
        assert await ledger.reserve("slow", claims, 0.0) == HELD
        await ledger.renew("slow", claims, LONG)
        assert await ledger.reserve("next", claims, LONG) == Verdict("waits", claims[0])

    checked(make_sessions, check)


def test_a_raised_limit_lets_calls_go_on_and_a_reset_account_begins_again(make_sessions: Make) -> None:
    async def check(ledger: Ledger) -> None:
        claims = [Claim(CALLS, "calls", 1, 1)]
        await ledger.reserve("a", claims, LONG)
        await ledger.settle("a", claims, {"calls": 1})
        assert (await ledger.reserve("b", claims, LONG)).state == "refused"
        await ledger.raise_limit(CALLS, "calls", 1)
        assert await ledger.reserve("b", claims, LONG) == HELD
        await ledger.settle("b", claims, {"calls": 1})
        assert (await ledger.reserve("c", claims, LONG)).raised == 1
        await ledger.reset(CALLS)
        assert await ledger.reserve("c", claims, LONG) == HELD
        assert await ledger.accounts() == [Account(CALLS, "calls", spent=0, held=1, raised=0, limit=1)]

    checked(make_sessions, check)


def test_what_costs_nothing_is_never_refused_and_what_has_no_limit_is_counted(make_sessions: Make) -> None:
    async def check(ledger: Ledger) -> None:
        used_up, free = [Claim(MONEY, "money", 1, 1)], [Claim(MONEY, "money", 1, 0)]
        counted = [Claim(MONEY, "money", None, 5)]
        await ledger.reserve("a", used_up, LONG)
        await ledger.settle("a", used_up, {"money": 1})
        assert await ledger.reserve("b", free, LONG) == HELD
        assert await ledger.reserve("c", counted, LONG) == HELD
        await ledger.settle("c", counted, {"money": 5})
        assert [(one.spent, one.limit) for one in await ledger.accounts()] == [(6, 1)]

    checked(make_sessions, check)


def test_calls_with_accounts_in_common_lock_them_in_one_order(make_sessions: Make) -> None:
    both = [Claim(MONEY, "money", 10**9, 1), Claim(USER, "money", 10**9, 1), Claim(USER, "tokens", 10**9, 1)]

    async def check(ledger: Ledger) -> None:
        async def one(number: int) -> None:
            claims = both[:: 1 if number % 2 else -1]
            assert await ledger.reserve(f"h{number}", claims, LONG) == HELD
            await ledger.settle(f"h{number}", claims, {"money": 1, "tokens": 2})

        await asyncio.gather(*map(one, range(24)))
        assert [(one.unit, one.spent) for one in await ledger.accounts()] == [
            ("money", 24),
            ("money", 24),
            ("tokens", 48),
        ]

    checked(make_sessions, check)


def test_of_two_limits_for_one_account_the_lower_one_holds() -> None:
    high, low, none = (Claim(MONEY, "money", limit, 1) for limit in (9, 4, None))
    assert in_order([high, low, none]) == in_order([none, low, high]) == [low]
    assert in_order([none, high]) == [high]
