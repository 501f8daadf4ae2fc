"""Accounts: the tables in which budgets are kept, as far as they concern the sessions next to them.

A session's deletion removes its accounts and those of its runs in the same transaction, so that no crash leaves a
session without its limits, or limits for another session that gets its id.
"""

from __future__ import annotations

from collections.abc import Sequence

from newel.contexts.limits import accounts_of_session
from newel.sessions.stored.rows import Key
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Query, Steps

#: The tables are made with the first limit.
BUDGETS, HOLDS = "budgets", "budget_holds"
_OF = "account = ?1 AND unit = ?2"
_EXISTS = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1",
    "postgresql": "SELECT 1 WHERE to_regclass(CAST(?1 AS text)) IS NOT NULL",
    "mysql": "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?1",
}


def removal_of(sql: Statements, key: Key) -> Steps[None]:
    """Remove the accounts of a session and its runs; one with a call under way begins again with what that costs."""
    budgets, holds = sql.table(BUDGETS), sql.table(HOLDS)
    if not (yield Query(_EXISTS[sql.dialect.name], (budgets,))).rows:
        return
    of_session = f"SELECT id, unit FROM {budgets} WHERE id = ?1 OR (id > ?2 AND id < ?3) ORDER BY id, unit"
    for ids in accounts_of_session(*key):
        for account in (yield Query(f"{of_session}{lock(sql)}", [*map(sql.dialect.stored, ids)])).rows:
            if (yield from is_under_way(sql, account)):
                yield Query(f"UPDATE {budgets} SET spent = 0, raised = 0 WHERE id = ?1 AND unit = ?2", account)
                yield Query(f"DELETE FROM {holds} WHERE {_OF} AND (counted = 1 OR {over(sql)})", account)
            else:
                yield from removal(sql, account)


def is_under_way(sql: Statements, account: Sequence[object]) -> Steps[bool]:
    """Whether an account, by its stored id and unit, has a call under way. The account must be locked.

    It is read with a lock: MariaDB and MySQL would else show what was there when the transaction began.
    """
    held = f"SELECT hold FROM {sql.table(HOLDS)} WHERE {_OF} AND counted = 0 AND NOT ({over(sql)}){lock(sql)}"
    return bool((yield Query(held, account)).rows)


def removal(sql: Statements, account: Sequence[object]) -> Steps[None]:
    """Remove an account. It must be locked, and have no call under way."""
    yield Query(f"DELETE FROM {sql.table(HOLDS)} WHERE {_OF}", account)
    yield Query(f"DELETE FROM {sql.table(BUDGETS)} WHERE id = ?1 AND unit = ?2", account)


def over(sql: Statements) -> str:
    """Whether a hold has lapsed."""
    return sql.dialect.over.format(column="lapses", now=sql.dialect.now)


def lock(sql: Statements) -> str:
    """What makes a SELECT lock its rows, where a transaction does not have all of them."""
    return " FOR UPDATE" if sql.dialect.unlocked else ""
