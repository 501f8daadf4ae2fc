"""The session stores that keep limits: each test that takes `make_sessions` runs once per store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.plugins.sessions.conftest import maker

from newel.sessions import InMemorySessionService
from newel_kernel import BaseSessionService

Make = Callable[[], BaseSessionService]


@pytest.fixture(params=["memory", "sqlite", "postgres", "database-mariadb"])
def make_sessions(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes services over one place, which is empty at first."""
    if request.param == "memory":
        service = InMemorySessionService()
        return lambda: service
    return maker(request.param, request, tmp_path)
