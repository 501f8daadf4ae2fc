"""How values get into statements. From Python 3.14 on sqlite3 refuses ``?1`` with a sequence, and 3.12 warns of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing
from typing import Any

from newel.sessions.sqlite import database
from newel.sessions.stored.dialects import in_order, numbered
from newel.sessions.stored.steps import Query, Reply


def test_a_value_that_is_used_twice_is_given_twice() -> None:
    statement = in_order("SELECT ?2, ?1, ?2", "?")
    assert statement.text == "SELECT ?, ?, ?"
    with closing(sqlite3.connect(":memory:")) as memory:
        assert memory.execute(statement.text, statement.values("ab")).fetchone() == ("b", "a", "b")


def test_a_percent_sign_is_doubled_where_it_is_a_mark() -> None:
    assert in_order("a LIKE '%' || ?1", "?").text == "a LIKE '%' || ?"
    assert in_order("a LIKE '%' || ?1", "%s").text == "a LIKE '%%' || %s"
    assert numbered("?3 = ?1 OR ?3 = ?3", "$").text == "$2 = $1 OR $2 = $2"


def test_a_statement_of_the_store_numbers_nothing() -> None:
    """Whatever Python runs it: what SQLite gets has no numbers."""
    seen: list[str] = []

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            seen.append(sql)
            return super().execute(sql, *values)

    def steps() -> Generator[Query, Reply, int]:
        reply = yield Query("SELECT ?2 + ?1 + ?2", (1, 2))
        return int(reply.rows[0][0])

    with closing(sqlite3.connect(":memory:", factory=Watched)) as watched:
        assert database.run(watched, steps()) == 5
    assert seen == ["SELECT ? + ? + ?"]
