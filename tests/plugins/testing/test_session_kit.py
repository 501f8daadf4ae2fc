"""The kit for stores of sessions catches what is wrong: each planted bug, by the check that says what was promised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.testing.planted import Bug
from tests.plugins.testing.planted.sessions import IN_A_FILE, IN_MEMORY, File, Slow

from newel.testing import session_checks
from newel.testing.sessions.fields import ACTION_FIELDS, EVENT_FIELDS
from newel_kernel import Event, EventActions


def named(bug: Bug) -> str:
    return bug.faulty.__name__


@pytest.mark.parametrize("bug", IN_MEMORY, ids=named)
def test_a_bug_in_one_process_is_caught(bug: Bug) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - a store's own errors, too
        session_checks(bug.faulty)[bug.check]()


@pytest.mark.parametrize("bug", IN_A_FILE, ids=named)
def test_a_bug_between_processes_is_caught(bug: Bug, tmp_path: Path) -> None:
    with pytest.raises(BaseException):  # noqa: B017, PT011 - as above, and a process's crash
        session_checks(lambda: bug.faulty(tmp_path / "s.db"))[bug.check]()


@pytest.mark.parametrize("make", [Slow, lambda: Slow()])
def test_a_slow_store_is_right(make: Callable[[], Any]) -> None:
    for check in session_checks(make).values():
        check()


def test_every_field_is_looked_at() -> None:
    assert set(EVENT_FIELDS) == set(Event.field_names) - {"partial", "actions", "id", "author"}
    assert set(ACTION_FIELDS) == set(EventActions.field_names)


def test_a_file_is_right(tmp_path: Path) -> None:
    checks = session_checks(lambda: File(tmp_path / "s.db"))
    assert {bug.check for bug in (*IN_MEMORY, *IN_A_FILE)} <= set(checks)
