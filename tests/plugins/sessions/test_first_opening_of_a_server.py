"""Processes that open a new database of a server at the same time: each finds it usable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from newel.sessions.stored.dialects import MYSQL, POSTGRES, Dialect
from newel.sessions.stored.schema import TABLES, VERSION, Schema
from newel.sessions.stored.steps import Reply
from newel_kernel import ConfigurationError

NONE: Sequence[Any] = ()


def version_of(dialect: Dialect, *replies: Sequence[Any]) -> int:
    """The version that a process finds, if the server gives these replies one after the other."""
    steps, left = Schema(dialect, "", "'s'").version(), list(replies)
    try:
        next(steps)
        while True:
            steps.send(Reply(left.pop(0), 0))
    except StopIteration as end:
        assert not left
        return int(end.value)


def columns(dialect: Dialect, *tables: str) -> list[tuple[str, str]]:
    return [(f"{dialect.prefix}{table}", "number") for table in tables]


@pytest.mark.parametrize("dialect", [POSTGRES, MYSQL], ids=lambda dialect: dialect.name)
def test_tables_that_are_made_meanwhile_are_not_taken_for_another_programs(dialect: Dialect) -> None:
    """They do not exist when the process asks for them, and are there when it looks what else is."""
    made = columns(dialect, "schema", *TABLES)
    assert version_of(dialect, NONE, made, [(VERSION,)]) == VERSION
    assert version_of(dialect, [(1,)], [(VERSION,)]) == VERSION
    assert version_of(dialect, NONE, NONE) == 0
    assert version_of(dialect, [(1,)], NONE, columns(dialect, "schema"), NONE) == 0  # it is being made
    with pytest.raises(ConfigurationError, match="tables of other programs"):
        version_of(dialect, NONE, columns(dialect, "sessions"))
