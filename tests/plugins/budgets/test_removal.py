"""Accounts go with their sessions, and stale ones can be removed: never while a call is under way or money is spent."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.plugins.budgets.test_ledgers import LONG, Make

from newel.budgets import Account, Claim, Ledger, Limit, ledger_of
from newel.budgets.ledger import HELD
from newel.budgets.pruning import stale
from newel.contexts.limits import Owner, account_id, account_name, accounts_of_session, shown_account
from newel.sessions import InMemorySessionService
from newel_compose import compose

NAMES = ["s", "s2", 's", "x', "é\\" * 200, "s" * 400, "s" * 399]


def opened(make: Make, check: Callable[[Ledger, Any], Awaitable[None]]) -> None:
    """Run a check with the ledger of a new service, and the service."""

    async def main() -> None:
        service: Any = make()
        try:
            await check(ledger_of(compose("standard"), service), service)
        finally:
            await service.close()

    asyncio.run(main())


def ids_of(session: str, user: str = "u") -> dict[str, list[str]]:
    """By kind, the ids of accounts that runs of a session have."""
    owners = [Owner("shop", user, session, run) for run in ("e-1", "e-2")]
    return {
        per: sorted(
            {
                account_id(Limit(per=per, period=period, calls=1), owner, 0.0)
                for owner in owners
                for period in (None, "day")
            }
        )
        for per in ("run", "session", "user", "app", "all")
    }


async def spend(ledger: Ledger, account: str, amount: int = 1) -> None:
    claims = [Claim(account, "calls", 10**6, amount)]
    assert await ledger.reserve("h", claims, LONG) == HELD
    await ledger.settle("h", claims, {"calls": amount})


async def ids(ledger: Ledger) -> set[str]:
    return {one.id for one in await ledger.accounts()}


def test_the_accounts_of_a_session_are_found_by_its_names_alone() -> None:
    for name in NAMES:
        for other in NAMES:
            own = [id_ for per in ("run", "session") for id_ in ids_of(other)[per]]
            found = [
                id_
                for id_ in own
                if any(id_ == one or start < id_ < end for one, start, end in accounts_of_session("shop", "u", name))
            ]
            assert found == (own if name == other else [])


def test_the_name_of_an_account_is_shown_whole_or_with_a_digest() -> None:
    day = account_id(Limit(per="user", period="day", calls=1), Owner("shop", "ann", "s", "r"), 0.0)
    assert shown_account(day) == "user/shop/ann/1970-01-01"
    assert account_name(day) == ("user", ("shop", "ann"), "1970-01-01", True)
    long = account_id(Limit(per="user", calls=1), Owner("shop", "a" * 500, "s", "r"), 0.0)
    assert account_name(long).exact is False
    assert shown_account(long).startswith("user/shop/aaaa")
    literal = account_id(Limit(per="user", calls=1), Owner("shop", account_name(long).owner[1], "s", "r"), 0.0)
    assert literal != long


@pytest.mark.parametrize("name", NAMES[1:4])
def test_a_session_takes_its_accounts_and_those_of_its_runs_with_it(make_sessions: Make, name: str) -> None:
    async def check(ledger: Ledger, service: Any) -> None:
        here, there = ids_of(name), ids_of("s")
        for id_ in {id_ for accounts in (here, there) for own in accounts.values() for id_ in own}:
            await spend(ledger, id_)
        where = {"app_name": "shop", "user_id": "u", "session_id": name}
        await service.create_session(**where)
        await service.delete_session(**where)
        assert await ids(ledger) == {id_ for own in there.values() for id_ in own}

    opened(make_sessions, check)


def test_a_session_is_deleted_where_no_limit_ever_held(make_sessions: Make) -> None:
    async def check(ledger: Ledger, service: Any) -> None:
        where = {"app_name": "shop", "user_id": "u", "session_id": "s"}
        await service.create_session(**where)
        await service.delete_session(**where)
        assert await service.get_session(**where) is None

    opened(make_sessions, check)


def test_an_account_with_a_call_under_way_begins_again_when_its_session_is_deleted(make_sessions: Make) -> None:
    async def check(ledger: Ledger, service: Any) -> None:
        account = ids_of("s")["session"][0]
        await spend(ledger, account, 7)
        await ledger.raise_limit(account, "calls", 5, once="q")
        claims = [Claim(account, "calls", 10, 3)]
        assert await ledger.reserve("killed", claims, 0.0) == HELD
        assert await ledger.reserve("under way", claims, LONG) == HELD
        await service.delete_session(app_name="shop", user_id="u", session_id="s")
        (left,) = await ledger.accounts()
        assert (left.spent, left.held, left.raised) == (0, 3, 0)
        await ledger.settle("under way", claims, {"calls": 2})
        await ledger.settle("killed", claims, {"calls": 2})
        assert [one.spent for one in await ledger.accounts()] == [2]
        await service.delete_session(app_name="shop", user_id="u", session_id="s")
        assert await ledger.accounts() == []

    opened(make_sessions, check)


def test_an_account_is_removed_only_as_it_was_read(make_sessions: Make) -> None:
    async def check(ledger: Ledger, service: Any) -> None:
        account = ids_of("s")["run"][0]
        claims = [Claim(account, "calls", 10, 1)]
        await spend(ledger, account)
        (read,) = await ledger.accounts()
        assert read.used > 0
        await spend(ledger, account)
        assert not await ledger.remove(read)
        (read,) = await ledger.accounts()
        await ledger.raise_limit(account, "calls", 1)
        assert not await ledger.remove(read)
        (read,) = await ledger.accounts()
        assert await ledger.reserve("free", [claims[0]._replace(amount=0)], LONG) == HELD
        assert not await ledger.remove(read)
        await ledger.settle("free", claims, {})
        assert await ledger.remove(read)
        assert not await ledger.remove(read)
        assert await ledger.accounts() == []
        await spend(ledger, account)  # and it can be made again

    opened(make_sessions, check)


@dataclass
class World:
    """Random calls, kills and removals of some accounts, and what each account must show."""

    chance: random.Random
    accounts: list[str]
    spent: Counter[str] = field(default_factory=Counter)
    under_way: dict[str, tuple[Claim, int]] = field(default_factory=dict)
    number: int = 0

    async def step(self, ledger: Ledger, service: Any) -> None:
        await self.chance.choices([self.settle, self.call, self.delete, self.remove], [3, 3, 2, 2])[0](ledger, service)
        shown = {one.id: one.spent for one in await ledger.accounts()}
        assert {id_: shown.get(id_, 0) for id_ in self.accounts} == {id_: self.spent[id_] for id_ in self.accounts}
        assert {claim.account for claim, _ in self.under_way.values()} <= shown.keys()

    async def settle(self, ledger: Ledger, service: Any) -> None:
        if self.under_way:
            hold = self.chance.choice([*self.under_way])
            claim, cost = self.under_way.pop(hold)
            await ledger.settle(hold, [claim], {"calls": cost})
            self.spent[claim.account] += cost

    async def call(self, ledger: Ledger, service: Any) -> None:
        self.number += 1
        hold, amount = f"h{self.number}", self.chance.randint(0, 3)
        claim = Claim(self.chance.choice(self.accounts), "calls", None, amount)
        killed = self.chance.random() < 0.3
        assert await ledger.reserve(hold, [claim], 0.0 if killed else LONG) == HELD
        if killed:
            self.spent[claim.account] += claim.amount
        else:
            self.under_way[hold] = claim, self.chance.randint(0, 3)

    async def delete(self, ledger: Ledger, service: Any) -> None:
        session = self.chance.choice(["s", "s2"])
        await service.delete_session(app_name="shop", user_id="u", session_id=session)
        for id_ in self.accounts:
            if session in account_name(id_).owner:
                self.spent[id_] = 0

    async def remove(self, ledger: Ledger, service: Any) -> None:
        account = self.chance.choice(self.accounts)
        is_open = account in {claim.account for claim, _ in self.under_way.values()}
        for read in await ledger.accounts({account}):
            assert await ledger.remove(read) is not is_open
            self.spent[account] *= is_open


@pytest.mark.parametrize("seed", range(4))
def test_no_removal_among_calls_and_kills_loses_what_is_spent(make_sessions: Make, seed: int) -> None:
    """An account shows what was spent since it was last removed; one with a call under way is never removed."""
    first, second = ids_of("s"), ids_of("s2")
    accounts = [first["session"][0], first["run"][0], second["session"][0], first["user"][0]]
    world = World(random.Random(seed), accounts)

    async def check(ledger: Ledger, service: Any) -> None:
        for _ in range(40):
            await world.step(ledger, service)

    opened(make_sessions, check)


def test_calls_and_removals_at_once_leave_what_is_spent(make_sessions: Make) -> None:
    """Many calls of one account while others remove it: what was spent since the last removal is there."""
    account, shared = ids_of("s")["run"][0], ids_of("s")["user"][0]
    claims = [Claim(account, "calls", 10**6, 1), Claim(shared, "calls", 10**6, 1)]

    async def check(ledger: Ledger, service: Any) -> None:
        other = ledger_of(compose("standard"), service)

        async def call(number: int) -> None:
            assert await ledger.reserve(f"h{number}", claims, LONG) == HELD
            await asyncio.sleep(0)
            await ledger.settle(f"h{number}", claims, {"calls": 1})

        async def remove(number: int) -> None:
            if number % 2:
                await service.delete_session(app_name="shop", user_id="u", session_id="s")
            else:
                for read in await other.accounts({account}):
                    await other.remove(read)

        await asyncio.gather(*map(call, range(24)), *map(remove, range(8)))
        shown = {one.id: (one.spent, one.held) for one in await ledger.accounts()}
        assert shown[shared] == (24, 0)
        assert shown.get(account, (0, 0))[1] == 0
        await service.delete_session(app_name="shop", user_id="u", session_id="s")
        assert await ids(ledger) == {shared}

    opened(make_sessions, check)


DAY = 86_400


def account(per: str, period: str | None, used: float, session: str = "s", held: int = 0) -> Account:
    limit: Any = {"per": per, "period": period, "calls": 1}
    id_ = account_id(Limit(**limit), Owner("shop", "u", session, "e-1"), used)
    return Account(id_, "calls", 1, held, 0, 1, int(used))


def test_what_is_stale_is_over_or_of_a_session_that_is_gone() -> None:
    """Runs, days and months that were not used for long; sessions that are gone after a day; nothing under way."""
    service, now = InMemorySessionService(), 100.0 * DAY
    stays = [
        account("run", None, now - 29 * DAY),
        account("run", None, now - 99 * DAY, held=1),
        account("session", None, now - 99 * DAY),
        account("user", None, now - 99 * DAY),
        account("all", "day", now - 29 * DAY),
        account("app", "month", now - 31 * DAY),  # its month ended later
        account("session", None, now - DAY / 2, "gone"),
        account("run", None, now - DAY / 2, "gone"),
        account("session", None, now - 99 * DAY, "g" * 500),  # nobody knows which session it was
    ]
    goes = [
        account("run", None, now - 31 * DAY),
        account("user", "day", now - 32 * DAY),
        account("app", "month", now - 80 * DAY),
        account("session", None, now - 2 * DAY, "gone"),
        account("run", None, now - 2 * DAY, "gone"),
    ]

    async def main() -> None:
        await service.create_session(app_name="shop", user_id="u", session_id="s")
        assert await stale([*stays, *goes], service, now, 30.0 * DAY) == goes

    asyncio.run(main())
