"""What newel needs of every engine, with agents whose sessions are in a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.contrib.temporal.servers import Server

from newel.sessions import SqliteSessionService
from newel.testing import engine_checks
from newel_temporal import Address, TemporalEngine

# The names are the same for any engine and store.
NAMES = sorted(engine_checks(partial(TemporalEngine, Address()), partial(SqliteSessionService, ":memory:")))
#: What is otherwise if each call is an activity of its own.
IN_STEPS = [name for name in NAMES if "cancelled" in name or "drains" in name or "so_" in name] + [
    "a_run_pauses_until_its_answer_is_stored",
    "a_failed_run_is_run_again_only_if_asked",
    "a_killed_workers_run_is_taken_over",
    "work_that_breaks_is_tried_again",
]


@pytest.mark.parametrize(("name", "steps"), [(name, False) for name in NAMES] + [(name, True) for name in IN_STEPS])
def test_it_does_what_is_needed_of_an_engine(server: Server, tmp_path: Path, name: str, steps: bool) -> None:
    make = partial(TemporalEngine, Address.of(server.uri(lease=3, steps=steps)))
    engine_checks(make, partial(SqliteSessionService, f"sqlite:///{tmp_path}/sessions.db"))[name]()
