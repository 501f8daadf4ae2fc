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


@pytest.mark.parametrize("name", NAMES)
def test_it_does_what_is_needed_of_an_engine(server: Server, tmp_path: Path, name: str) -> None:
    make = partial(TemporalEngine, Address.of(server.uri(lease=3)))
    engine_checks(make, partial(SqliteSessionService, f"sqlite:///{tmp_path}/sessions.db"))[name]()
