"""DbosEngine passes the kit of engines, with the sessions in the same database."""

from __future__ import annotations

from functools import partial

import pytest

from newel.testing import engine_checks
from newel_dbos import DbosEngine
from newel_postgres import PostgresSessionService

CHECKS = engine_checks(partial(DbosEngine, "dbos://postgres@127.0.0.1/none"), PostgresSessionService)


@pytest.mark.parametrize("name", CHECKS)
def test_it_does_what_newel_needs_of_an_engine(name: str, uri: str) -> None:
    sessions = partial(PostgresSessionService, uri.replace("dbos://", "postgresql://").partition("?")[0])
    engine_checks(partial(DbosEngine, uri), sessions)[name]()
