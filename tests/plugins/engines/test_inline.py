"""The inline engine passes the kit of engines."""

from __future__ import annotations

import pytest

from newel.engines import InlineEngine
from newel.sessions import InMemorySessionService
from newel.testing import engine_checks

CHECKS = engine_checks(InlineEngine, InMemorySessionService)


@pytest.mark.parametrize("name", CHECKS)
def test_it_does_what_newel_needs_of_an_engine(name: str) -> None:
    CHECKS[name]()
