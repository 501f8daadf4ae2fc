"""The checks for stores of other people: all of newel's own pass them, and a store with a fault fails them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from newel.sessions import DatabaseSessionService, InMemorySessionService, SqliteSessionService
from newel.testing import session_checks, session_conformance
from newel_kernel import ConfigurationError, Event, ListSessionsResponse, Session, seam
from newel_postgres import PostgresSessionService

STORES = ("memory", "sqlite", "postgres", "database-sqlite", "database-postgres", "database-mariadb")


@pytest.fixture(params=STORES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    kind = request.param
    if kind == "memory":
        return InMemorySessionService
    if kind == "sqlite":
        return lambda: SqliteSessionService(tmp_path / "s.db")
    if kind == "database-sqlite":
        return lambda: DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path}/s.db")
    url = request.getfixturevalue("mariadb" if kind == "database-mariadb" else "postgres")()
    return lambda: PostgresSessionService(url) if kind == "postgres" else DatabaseSessionService(url)


def test_every_store_conforms(make: Callable[[], Any], request: pytest.FixtureRequest) -> None:
    servers = "postgres" in request.node.name or "mariadb" in request.node.name
    session_conformance(make, examples=4 if servers else 20)


class Forgetful(InMemorySessionService):
    """Loses every third event, has two of an id, and lists nothing."""

    async def append_event(self, session: Session, event: Event) -> Event:
        if len(session.events) == 2:
            return event
        return await super().append_event(session, event.model_copy(update={"id": seam.new_id()}))

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        return ListSessionsResponse()


def test_a_faulty_store_is_told_all_that_is_wrong() -> None:
    with pytest.raises(AssertionError, match="check") as caught:
        session_conformance(Forgetful, examples=50)  # it ends with the first that fails; of five all may be harmless
    failed = {line.partition(":")[0] for line in str(caught.value).splitlines()[1:]}
    assert {"an_event_id_is_stored_once", "order_is_that_of_the_appends", "many_tasks_append", "machine"} <= failed
    assert "sessions_are_made_once" not in failed


def test_a_store_that_says_too_much_is_refused() -> None:
    class Boastful(InMemorySessionService):
        capabilities = DatabaseSessionService.capabilities

    with pytest.raises(ConfigurationError, match="SharedSessionStore"):
        session_checks(Boastful)
