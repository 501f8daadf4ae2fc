"""Two processes whose calls meet at an account: the second one sees what the first one has written there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.sessions.conftest import maker

from newel.budgets import Account, Claim, Ledger, Verdict, ledger_of
from newel.budgets.ledger import HELD, in_order
from newel.budgets.stored import _Reserve, _Settle
from newel.sessions.stored.steps import Batch
from newel_compose import compose

USER, LONG = '["user", "shop", "u"]', 3_600.0
OWN, OTHER = '["run", "shop", "u", "s", "1"]', '["run", "shop", "u", "s", "2"]'
SERVERS = ["postgres", "database-mariadb"]


def claims(run: str, limit: int, amount: int) -> list[Claim]:
    return in_order([Claim(run, "tokens", 10**6, amount), Claim(USER, "tokens", limit, amount)])


async def overtaken(store: Any, write: Any, other: Any) -> Any:
    """The result of a write that another one overtakes: before it comes to the user's account."""
    sql, pool = store._database._statements, store._database.make_pool()
    user, overtook = sql.dialect.stored(USER), False
    async with pool.connection() as connection, connection.transaction():
        steps, reply = write.steps(sql, Batch()), None
        while True:
            try:
                query = steps.send(reply)
            except StopIteration as end:
                result = end.value
                break
            if query.values[0] == user and not overtook:
                overtook = True
                await other()
            reply = await connection.run(query)
    await pool.close()
    assert overtook
    return result


async def spent(ledger: Ledger) -> Account:
    return (await ledger.accounts({USER}))[0]


@pytest.fixture(params=SERVERS)
def make(request: pytest.FixtureRequest) -> Any:
    return maker(request.param, request, Path())


def test_a_call_sees_what_another_one_has_just_held(make: Any) -> None:
    async def main() -> None:
        async with make() as store:
            ledger = ledger_of(compose("standard"), store)
            await ledger.accounts()

            async def other() -> None:
                assert await ledger.reserve("other", claims(OTHER, 100, 100), LONG) == HELD

            mine = claims(OWN, 100, 100)
            verdict = await overtaken(store, _Reserve(mine, "mine", LONG), other)
            assert verdict == Verdict("waits", mine[1])

    asyncio.run(main())


def test_a_dead_call_is_counted_once(make: Any) -> None:
    async def main() -> None:
        async with make() as store:
            ledger = ledger_of(compose("standard"), store)
            await ledger.reserve("dead", claims(OTHER, 1_000, 100), 0.0)

            async def other() -> None:
                assert await ledger.reserve("other", claims(OTHER, 1_000, 1), LONG) == HELD

            assert await overtaken(store, _Reserve(claims(OWN, 1_000, 1), "mine", LONG), other) == HELD
            account = await spent(ledger)
            assert (account.spent, account.held) == (100, 2)

    asyncio.run(main())


def test_a_late_settlement_sees_that_its_call_was_just_counted(make: Any) -> None:
    async def main() -> None:
        async with make() as store:
            ledger = ledger_of(compose("standard"), store)
            mine = claims(OWN, 1_000, 100)
            await ledger.reserve("mine", mine, 0.0)

            async def other() -> None:
                assert await ledger.reserve("other", claims(OTHER, 1_000, 1), LONG) == HELD

            await overtaken(store, _Settle(mine, "mine", {"tokens": 15}), other)
            account = await spent(ledger)
            assert (account.spent, account.held) == (15, 1)

    asyncio.run(main())
