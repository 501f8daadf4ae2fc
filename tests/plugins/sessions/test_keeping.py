"""What keeps a lease, and what ends it, while the process, the store or another session stands in the way."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.sessions.conftest import maker

from newel import Agent, Runner
from newel.sessions import SqliteSessionService, StoreUnavailableError
from newel.sessions.stored import clockwork, time_limits
from newel.sessions.stored.steps import Query
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, FencedError, Session, SessionError
from newel_types import FunctionCall

WHERE: dict[str, Any] = {"app_name": "till", "user_id": "u"}
#: So long a lease lasts here, and so long the test looks whether it is kept.
LEASE, LONG = 3.0, 4.8
MakeStore = Callable[[], Any]


def said(text: str = "x") -> Event:
    return Event(author="user", message=text)


async def held(store: Any, name: str = "s", seconds: float = LEASE) -> tuple[Session, list[str]]:
    """A session whose lease `store` holds, and a list that gets a word when the lease is lost."""
    await store.create_session(**WHERE, session_id=name)
    view = await store.open(**WHERE, session_id=name)
    losses: list[str] = []
    store.hold(view, seconds)
    store.when_lost(view, lambda: losses.append("lost"))
    await store.append_event(view, said())
    return view, losses


async def is_free(store: Any, name: str = "s") -> bool:
    return await store.claim(**WHERE, session_id=name, owner="other", ttl=5) is not None


def test_a_lease_is_kept_while_other_sessions_are_busy(make_store: MakeStore) -> None:
    async def main() -> None:
        async with make_store() as mine, make_store() as other:
            _, losses = await held(mine)
            noise = await mine.create_session(**WHERE, session_id="noise")
            end = time.monotonic() + LONG
            while time.monotonic() < end:
                await mine.append_event(noise, said())
                await asyncio.sleep(0.02)
            assert not await is_free(other)
            assert losses == []

    asyncio.run(main())


def test_a_lease_is_kept_while_a_tool_blocks_the_event_loop(make_store: MakeStore) -> None:
    async def main() -> None:
        async with make_store() as mine, make_store() as other:
            view, losses = await held(mine)
            time.sleep(LONG)  # as some tools do
            assert not await is_free(other)
            await mine.append_event(view, said())
            assert losses == []

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_lease_is_kept_after_a_fork_and_is_not_the_childs(make_store: MakeStore) -> None:
    async def main() -> None:
        async with make_store() as mine, make_store() as other:
            _, losses = await held(mine)
            child = os.fork()
            if child == 0:
                os._exit(0 if not mine._leases.lasting() else 1)
            assert os.waitpid(child, 0)[1] == 0
            await asyncio.sleep(LONG)
            assert not await is_free(other)
            assert losses == []

    asyncio.run(main())


def test_a_lease_of_another_session_that_cannot_be_renewed_stops_none(make_store: MakeStore) -> None:
    async def main() -> None:
        async with make_store() as mine, make_store() as other:
            gone, losses = await held(mine, "gone")
            _, kept = await held(mine, "kept")
            await mine.renew(gone, ttl=-1)
            assert await is_free(other, "gone")
            gone_lease = mine._leases.of(gone)
            gone_lease.seconds, gone_lease.since = LEASE, 0.0
            await asyncio.sleep(LONG)
            assert losses == ["lost"]
            assert kept == []
            assert not await is_free(other, "kept")
            with pytest.raises(FencedError):
                await mine.confirm(gone)

    asyncio.run(main())


def test_a_locked_row_stops_the_renewal_of_no_other(postgres: Callable[[], str]) -> None:
    import asyncpg

    from newel_postgres import PostgresSessionService

    url = postgres()

    async def main() -> None:
        async with PostgresSessionService(url) as mine, PostgresSessionService(url) as other:
            _, losses = await held(mine, "locked")
            _, kept = await held(mine, "kept")
            connection = await asyncpg.connect(url)
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute("SELECT * FROM newel_sessions WHERE id = 'locked' FOR UPDATE")
            await asyncio.sleep(LONG)
            assert not await is_free(other, "kept")
            assert kept == []
            assert losses == ["lost"]  # its run is told before the lease is over
            await transaction.rollback()
            await connection.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["postgres", "database-postgres"])
def test_a_transaction_that_stands_still_ends_in_time_for_its_lease(request: pytest.FixtureRequest, kind: str) -> None:
    """As that of a process whose tool blocks the event loop, which must not lose its own lease by it."""
    make, _ = server_of(kind, request)

    async def main() -> None:
        async with make() as store:
            view, losses = await held(store)
            assert store._leases.shortest == LEASE
            pool = store._database.make_pool()
            with suppress(Exception):  # the server has closed its connection
                async with pool.connection() as connection, connection.transaction(LEASE):
                    await connection.run(Query("SELECT number FROM newel_sessions WHERE id = 's' FOR UPDATE"))
                    time.sleep(LONG)  # the event loop, too
            with suppress(Exception):
                await pool.close()
            assert losses == []
            await store.append_event(view, said())

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["postgres", "database-postgres"])
@pytest.mark.parametrize(("seconds", "limit"), [(LEASE, LEASE / 5), (60.0, 1.5)])
def test_a_transaction_waits_for_a_lock_no_longer_than_leases_allow(
    request: pytest.FixtureRequest, kind: str, seconds: float, limit: float
) -> None:
    """It keeps rows of other sessions locked meanwhile, whose leases cannot be renewed."""
    make, _ = server_of(kind, request)

    async def main() -> None:
        async with make() as store:
            await held(store)
            pool = store._database.make_pool()
            async with pool.connection() as connection, connection.transaction(seconds):
                query = "SELECT extract(epoch FROM current_setting('lock_timeout')::interval)"
                rows = (await connection.run(Query(query))).rows
                assert float(rows[0][0]) == pytest.approx(limit, abs=0.001)
            await pool.close()

    asyncio.run(main())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another writer has the file."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def test_a_lease_that_cannot_be_renewed_is_lost_in_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with SqliteSessionService(tmp_path / "s.db", patience=0.2) as store:
            view, losses = await held(store)
            with locked(tmp_path / "s.db"):
                begin = time.monotonic()
                while not losses:
                    await asyncio.sleep(0.01)
                assert time.monotonic() - begin < LEASE
            with pytest.raises(FencedError):
                await store.confirm(view)

    asyncio.run(main())


@pytest.mark.parametrize("busy", ["refuse", "queue", "interrupt"])
def test_a_run_whose_lease_is_lost_ends_before_others_may_have_the_session(tmp_path: Path, busy: str) -> None:
    log: list[str] = []

    async def wait() -> str:
        """Wait."""
        log.append("begins")
        try:
            await asyncio.sleep(10)
        finally:
            log.append("ends")
        return "waited"

    standard = compose("standard")
    settings = {**standard.distribution.settings, "claims": {"busy": busy, "lease_seconds": LEASE}}
    composition = compose(standard.distribution.model_copy(update={"settings": settings}))

    async def main() -> None:
        async with SqliteSessionService(tmp_path / "s.db", patience=0.2) as store:
            agent = Agent(name="a", model=ScriptedModel([FunctionCall(name="wait", args={}), "done"]), tools=[wait])
            runner = Runner(agent=agent, app_name="till", session_service=store, composition=composition)
            await store.create_session(**WHERE, session_id="s")
            run = runner.run_async(user_id="u", session_id="s", new_message="go")
            assert (await anext(run)).get_function_calls()
            waiting = asyncio.create_task(anext(run))
            while not log:
                await asyncio.sleep(0.01)
            with locked(tmp_path / "s.db"):
                begin = time.monotonic()
                with pytest.raises(FencedError, match="lease of the session 's'"):
                    await waiting
                assert time.monotonic() - begin < LEASE
            assert log == ["begins", "ends"]
            assert asyncio.current_task().cancelling() == 0

    asyncio.run(main())


@pytest.mark.parametrize("step", [-86_400.0, 60.0, 86_400.0])
def test_no_lease_of_a_file_depends_on_the_time_of_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    async def main() -> None:
        async with SqliteSessionService(tmp_path / "s.db") as mine, SqliteSessionService(tmp_path / "s.db") as other:
            await held(mine, seconds=60)
            now = time.time
            monkeypatch.setattr(time, "time", lambda: now() + step)
            assert not await is_free(other)

    asyncio.run(main())


def test_after_a_restart_of_the_machine_no_session_stays_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        monkeypatch.setattr(clockwork, "elapsed", lambda: 3_000_000.0)  # the machine has run for a month
        async with SqliteSessionService(tmp_path / "s.db") as store:
            await store.create_session(**WHERE, session_id="s")
            assert await store.claim(**WHERE, session_id="s", owner="before", ttl=3600) is not None
        monkeypatch.setattr(clockwork, "elapsed", lambda: 12.0)  # it has restarted, and its clock with it
        async with SqliteSessionService(tmp_path / "s.db") as store:
            assert await is_free(store)

    asyncio.run(main())


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 86_401])
def test_a_lease_has_a_longest_time(make_store: MakeStore, seconds: float) -> None:
    async def main() -> None:
        async with make_store() as store:
            view = await store.create_session(**WHERE, session_id="s")
            with pytest.raises(ConfigurationError, match="at most 86400 seconds"):
                store.hold(await store.open(**WHERE, session_id="s"), seconds)
            with pytest.raises(ConfigurationError, match="at most 86400 seconds"):
                await store.claim(**WHERE, session_id="s", owner="o", ttl=seconds)
            await store.append_event(view, said())

    asyncio.run(main())


# --- every wait has an end --------------------------------------------------------------------------------------------


def test_all_writes_wait_as_long_as_one_for_another_process(tmp_path: Path) -> None:
    async def main() -> None:
        async with SqliteSessionService(tmp_path / "s.db", patience=3) as store:
            sessions = [await store.create_session(**WHERE, session_id=f"{n}") for n in range(6)]
            with locked(tmp_path / "s.db"):
                begin = time.monotonic()
                results = await asyncio.gather(
                    *(store.append_event(one, said()) for one in sessions), return_exceptions=True
                )
                assert [type(one) for one in results] == [StoreUnavailableError] * 6
                assert time.monotonic() - begin < 6 * 3 - 6  # one after the other they take 18 s
            for one in sessions:
                await store.append_event(one, said("again"))
                assert len(one.events) == 1

    asyncio.run(main())


def test_a_cancelled_write_that_waits_is_withdrawn_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with SqliteSessionService(tmp_path / "s.db", patience=30) as store:
            first, second = [await store.create_session(**WHERE, session_id=name) for name in "ab"]
            with locked(tmp_path / "s.db"):
                waiting = asyncio.create_task(store.append_event(second, said("kept")))
                begin = time.monotonic()
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(store.append_event(first, said("withdrawn")), 0.1)
                assert time.monotonic() - begin < 15
            await waiting
            assert [len((await store.get_session(**WHERE, session_id=name)).events) for name in "ab"] == [0, 1]
            await store.append_event(first, said("later"))

    asyncio.run(main())


SERVERS = ["postgres", "database-postgres", "database-mariadb"]


def server_of(kind: str, request: pytest.FixtureRequest) -> tuple[MakeStore, Callable[[], Any]]:
    """Makes services over one database of a server, and their bare databases."""
    make = maker(kind, request, Path())
    return make, lambda: make()._database  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", SERVERS)
def test_a_worker_that_stands_still_within_a_transaction_keeps_no_lock(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(time_limits, "IDLE_SECONDS", 1.0)
    make, database = server_of(kind, request)

    async def main() -> None:
        async with make() as store:
            session = await store.create_session(**WHERE, session_id="s")
            pool = database().make_pool()
            with suppress(Exception):  # the server has closed its connection
                async with pool.connection() as peer, peer.transaction():
                    await peer.run(Query("UPDATE newel_sessions SET update_time = update_time WHERE id = 's'"))
                    await store.append_event(session, said())  # waits for the row, but not for ever
            with suppress(Exception):
                await pool.close()
            assert len((await store.get_session(**WHERE, session_id="s")).events) == 1

    asyncio.run(main())


async def appended_quietly(store: SqliteSessionService, session: Session, seconds: float) -> None:
    """Append two events; the directory is quiet between them."""
    await store.append_event(session, said())
    await asyncio.sleep(seconds)
    await store.append_event(session, said())


#: Within a moment after the directory has changed, each file is looked at; later on, the directory is (see `Place`).
@pytest.mark.parametrize("quiet", [0.0, 0.2])
def test_appends_survive_the_loss_of_the_files_next_to_the_store(tmp_path: Path, quiet: float) -> None:
    async def main(names: tuple[str, ...], path: Path) -> None:
        async with SqliteSessionService(path) as store:
            session = await store.create_session(**WHERE, session_id="s")
            await appended_quietly(store, session, quiet)
            for name in names:
                Path(f"{path}{name}").unlink()
            await store.append_event(session, said())
            # As a crash would leave it: a copy of the files, opened by another process.
            copy = path.with_suffix(".copy")
            for name in ("", "-wal"):
                Path(f"{copy}{name}").write_bytes(Path(f"{path}{name}").read_bytes())
            async with SqliteSessionService(copy) as other:
                assert len((await other.get_session(**WHERE, session_id="s")).events) == 3

    for number, names in enumerate((("-wal",), ("-shm",), ("-wal", "-shm"))):
        asyncio.run(main(names, tmp_path / f"{number}.db"))


@pytest.mark.parametrize("quiet", [0.0, 0.2])
@pytest.mark.parametrize("name", ["-wal", "-shm"])
def test_an_append_fails_where_a_lost_file_cannot_be_made_good(tmp_path: Path, name: str, quiet: float) -> None:
    path = tmp_path / "s.db"

    async def main() -> None:
        async with SqliteSessionService(path) as store, SqliteSessionService(path) as other:
            session = await store.create_session(**WHERE, session_id="s")
            await other.get_session(**WHERE, session_id="s")  # it has the file open, too
            await appended_quietly(store, session, quiet)
            Path(f"{path}{name}").unlink()
            with pytest.raises(SessionError, match="end all processes"):
                await store.append_event(session, said())
            assert len(session.events) == 2
        async with SqliteSessionService(path) as store:
            assert len((await store.get_session(**WHERE, session_id="s")).events) == 2

    asyncio.run(main())


def test_the_threads_end(tmp_path: Path) -> None:
    async def main() -> None:
        async with SqliteSessionService(tmp_path / "s.db") as store:
            await held(store)
            assert {"newel-leases", "newel-sessions"} <= {one.name for one in threading.enumerate()}

    before = {one.ident for one in threading.enumerate()}
    asyncio.run(main())
    assert {one.ident for one in threading.enumerate()} <= before
