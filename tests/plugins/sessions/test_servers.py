"""What a store on a server meets: connections that are cut, servers that are away, tables that are not its own."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from newel.sessions import DatabaseSessionService, SqliteSessionService, StoreUnavailableError
from newel.sessions.kinds import SessionBackend
from newel.sessions.stored import pooled
from newel.sessions.stored.rows import Key
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, FeatureUnavailableError, SessionError
from newel_postgres import PostgresSessionService
from newel_postgres.access import access_of
from newel_postgres.database import translated

WHERE: dict[str, Any] = {"app_name": "app", "user_id": "u", "session_id": "s"}
SERVICES = [PostgresSessionService, DatabaseSessionService]


def said(text: str, **fields: Any) -> Event:
    return Event(author="agent", message=text, **fields)


async def sql(url: str, *statements: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            rows = await connection.fetch(statement)
        return list(rows)
    finally:
        await connection.close()


CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
OURS = "FROM information_schema.tables WHERE table_name LIKE 'newel%'"


@pytest.mark.parametrize("service", SERVICES)
def test_cut_connections_lose_and_double_nothing(postgres: Callable[[], str], service: Any) -> None:
    url = postgres()

    async def main() -> None:
        store = service(url)
        sessions = [await store.create_session(**{**WHERE, "session_id": f"{n}"}) for n in range(4)]
        over = asyncio.Event()

        async def write(session: Any) -> list[str]:
            done = []
            while not over.is_set():
                await store.append_event(session, said(f"{len(done)}", state={"n": len(done), "app:n": 1}))
                done.append(f"{len(done)}")
            return done

        writers = [asyncio.create_task(write(session)) for session in sessions]
        for _ in range(10):
            await sql(url, CUT)
            await asyncio.sleep(0.02)
        over.set()
        acknowledged = await asyncio.gather(*writers)
        await store.close()
        fresh = service(url)
        for number, texts in enumerate(acknowledged):
            got = await fresh.get_session(**{**WHERE, "session_id": f"{number}"})
            assert [event.content.parts[0].text for event in got.events] == texts
            assert got.state.get("n", -1) == len(texts) - 1
        await fresh.close()

    asyncio.run(main())


@pytest.mark.parametrize("service", SERVICES)
def test_what_this_process_has_just_stored_is_not_taken_for_another_ones(
    service: Any, postgres: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres()
    driven = pooled.driven

    async def main() -> None:
        stored, looked, armed = asyncio.Event(), asyncio.Event(), True

        async def late(connection: Any, steps: Any) -> Any:  # the moment before the answer is here
            nonlocal armed
            result = await driven(connection, steps)
            if armed:
                armed = False
                stored.set()
                await looked.wait()
            return result

        store = service(url)
        await store.create_session(**WHERE)
        first, second = await store.open(**WHERE), await store.open(**WHERE)
        monkeypatch.setattr(pooled, "driven", late)
        append = asyncio.ensure_future(store.append_event(first, said("one")))
        await stored.wait()
        await store.get_session(**WHERE)
        looked.set()
        await append
        await store.append_event(second, said("two"))
        got = await store.get_session(**WHERE)
        assert [event.content.parts[0].text for event in got.events] == ["one", "two"]
        await store.close()

    asyncio.run(main())


def nowhere() -> int:
    """A port at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize("service", SERVICES)
def test_a_server_that_is_away_is_unavailable_in_time(service: Any) -> None:
    async def main() -> None:
        store = service(f"postgresql://u:secret@127.0.0.1:{nowhere()}/d", patience=0.2)
        with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1") as caught:
            await store.create_session(**WHERE)
        assert caught.value.retry_after > 0
        assert "secret" not in str(caught.value)
        await store.close()
        with pytest.raises(SessionError, match="closed"):
            await store.get_session(**WHERE)

    asyncio.run(main())


@pytest.mark.parametrize("service", SERVICES)
def test_a_store_waits_for_a_lock_and_goes_on(postgres: Callable[[], str], service: Any) -> None:
    url = postgres()

    async def main() -> None:
        store = service(url, patience=60)  # however late this machine gets to give the lock back
        session = await store.create_session(**WHERE)
        other = await asyncpg.connect(url)
        await other.execute("BEGIN; LOCK TABLE newel_sessions; SET LOCAL lock_timeout = 0")
        appending = asyncio.create_task(store.append_event(session, said("one")))
        await asyncio.sleep(0.05)
        assert not appending.done()
        await other.execute("ROLLBACK")
        await other.close()
        await appending
        await store.append_event(session, said("two"))
        assert [event.content.parts[0].text for event in session.events] == ["one", "two"]
        await store.close()

    asyncio.run(main())


@pytest.mark.parametrize("service", SERVICES)
def test_what_is_not_ours_is_left_alone(postgres: Callable[[], str], service: Any) -> None:
    async def opened(url: str) -> None:
        store = service(url)
        try:
            await store.get_session(**WHERE)
        finally:
            await store.close()

    async def main() -> None:
        url = postgres_url = await asyncio.to_thread(postgres)
        await sql(url, "CREATE TABLE newel_events (x int)")
        with pytest.raises(ConfigurationError, match=r"other programs under newel's names \(newel_events\)"):
            await opened(url)
        await sql(
            url,
            "DROP TABLE newel_events",
            *(
                f"CREATE TABLE {table} (id text, invocation_id text, event_data jsonb)"
                for table in ("sessions", "events", "app_states", "user_states", "adk_internal_metadata")
            ),
        )
        with pytest.raises(ConfigurationError, match=r"google-adk \(release 1\.22 or later.*import-adk"):
            await opened(url)
        # Another test has a schema of its own in this database.
        tables = await sql(url, f"SELECT 1 {OURS} AND table_schema = current_schema()")
        assert tables == []
        await sql(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        await opened(url)
        await sql(url, "UPDATE newel_schema SET version = 99")
        with pytest.raises(ConfigurationError, match="schema version 99, this newel knows"):
            await opened(postgres_url)

    asyncio.run(main())


def test_a_schema_is_chosen_and_made(postgres: Callable[[], str]) -> None:
    url = postgres()

    async def main() -> None:
        one, two = PostgresSessionService(url, schema='o"ne'), PostgresSessionService(f"{url}?schema=two&pool_size=2")
        session = await one.create_session(**WHERE)
        await one.append_event(session, said("x"))
        assert await two.get_session(**WHERE) is None
        names = await sql(url, f"SELECT DISTINCT table_schema {OURS}")
        assert {row[0] for row in names} == {'o"ne', "two"}
        await one.close()
        await two.close()

    asyncio.run(main())


def test_behind_a_pooler_no_statement_outlives_its_transaction(postgres: Callable[[], str]) -> None:
    url = postgres()

    async def main() -> None:
        store = PostgresSessionService(f"{url}?proxy=1")
        session = await store.create_session(**WHERE, state={"a": 1})
        for n in range(3):
            await store.append_event(session, said(f"{n}", state={"n": n}))
        assert (await store.get_session(**WHERE)).state == {"a": 1, "n": 2}
        async with store._database._mine().pool.connection() as connection:
            kept = await connection._connection.fetch("SELECT name FROM pg_prepared_statements WHERE name <> ''")
        assert kept == []
        await store.close()

    asyncio.run(main())


def test_the_stores_read_what_each_other_wrote(postgres: Callable[[], str], tmp_path: Path) -> None:
    url, path = postgres(), tmp_path / "s.db"
    pairs = [
        (PostgresSessionService(url), DatabaseSessionService(url)),
        (SqliteSessionService(path), DatabaseSessionService(f"sqlite:///{path}")),
    ]

    async def main() -> None:
        for one, two in pairs:
            session = await one.create_session(**WHERE, state={"app:a": 1})
            await one.append_event(session, said("one", state={"n": 1}))
            other = await two.get_session(**WHERE)
            await two.append_event(other, said("two", state={"n": None}))
            got = await one.get_session(**WHERE)
            assert (got.events, got.state) == (list(other.events), {"app:a": 1})
            await one.close()
            await two.close()

    asyncio.run(main())


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_row_that_is_gone_is_named(make_store: Callable[[], Any], lost: int) -> None:
    async def main() -> None:
        store = make_store()
        session = await store.create_session(**WHERE)
        for text in "abc":
            await store.append_event(session, said(text))
        row = await store._reader.loaded((session.app_name, session.user_id, session.id))
        gone = f"DELETE FROM {store_table(store)} WHERE session = ?1 AND sequence = ?2"
        await store._database.commit(Raw(gone, (row.number, lost)))
        await store.close()
        fresh = make_store()
        where = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
        for read in (fresh.open, fresh.get_session):
            with pytest.raises(SessionError, match=f"event {lost} of session '.+' is missing in the session store"):
                await read(**where)
        await fresh.delete_session(**where)
        assert await fresh.get_session(**where) is None
        await fresh.close()

    asyncio.run(main())


def test_a_damaged_row_is_named_and_leaves_others_alone(make_store: Callable[[], Any]) -> None:
    async def main() -> None:
        store = make_store()
        for name in ("bad", "good"):
            session = await store.create_session(**{**WHERE, "session_id": name})
            await store.append_event(session, said("x"))
        row = await store._reader.loaded(("app", "u", "bad"))
        damage = f"UPDATE {store_table(store)} SET data = ?1 WHERE session = ?2"
        await store._database.commit(Raw(damage, ('{"id": 5}', row.number)))
        await store.close()
        fresh = make_store()
        with pytest.raises(SessionError, match="event 0 of session 'bad' is damaged"):
            await fresh.get_session(**{**WHERE, "session_id": "bad"})
        assert len((await fresh.get_session(**{**WHERE, "session_id": "good"})).events) == 1
        assert len((await fresh.list_sessions(app_name="app")).sessions) == 2
        await fresh.close()

    asyncio.run(main())


def test_closing_commits_what_is_on_its_way(make_store: Callable[[], Any]) -> None:
    async def main() -> None:
        store = make_store()
        sessions = [await store.create_session(**{**WHERE, "session_id": f"{n}"}) for n in range(20)]
        appends = [asyncio.create_task(store.append_event(one, said(f"{n}"))) for one in sessions for n in range(2)]
        await asyncio.sleep(0)
        await store.close()
        await asyncio.gather(*appends)
        fresh = make_store()
        for one in sessions:
            got = await fresh.get_session(**{**WHERE, "session_id": one.id})
            assert [event.content.parts[0].text for event in got.events] == ["0", "1"]
        await fresh.close()

    asyncio.run(main())


def store_table(store: Any) -> str:
    return "events" if "ite" in f"{getattr(store._database, 'name', 'sqlite')}" else "newel_events"


class Raw:
    """A statement of a test."""

    key = Key("app", "u", "s")
    single = False
    shared = False

    def __init__(self, statement: str, values: tuple[Any, ...]) -> None:
        self.statement, self.values = statement, values

    def steps(self, sql: Any, batch: Any) -> Any:
        from newel.sessions.stored.steps import Query

        binary = sql.dialect.name != "postgresql"
        yield Query(self.statement, tuple(v.encode() if binary and isinstance(v, str) else v for v in self.values))


def test_urls_are_understood_or_refused() -> None:
    for url, message in (
        ("mssql://host/db", "name a database of SQLite, PostgreSQL, MariaDB or MySQL"),
        ("postgresql+psycopg2://host/db", "not an asynchronous driver: write postgresql\\+asyncpg"),
        ("nonsense", "is not an SQLAlchemy URL"),
    ):
        with pytest.raises((ConfigurationError, FeatureUnavailableError), match=message):
            DatabaseSessionService(url)
    with pytest.raises(ConfigurationError, match="`db_url` or a `db_engine`"):
        DatabaseSessionService()
    with pytest.raises(ConfigurationError, match="leave out echo"):
        DatabaseSessionService("sqlite://", echo=True)
    with pytest.raises(ConfigurationError, match="postgresql://user@host"):
        PostgresSessionService("mysql://host/db")
    with pytest.raises(ConfigurationError, match="is not a number"):
        PostgresSessionService("postgresql://host/db?pool_size=many")


def test_an_engine_of_the_program_is_used_and_kept(tmp_path: Path) -> None:
    from sqlalchemy.ext.asyncio import create_async_engine

    async def main() -> None:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/s.db")
        store = DatabaseSessionService(db_engine=engine)
        session = await store.create_session(**WHERE)
        await store.append_event(session, said("x"))
        await store.close()
        async with engine.connect() as connection:
            assert (await connection.exec_driver_sql("SELECT count(*) FROM events")).scalar() == 1
        await engine.dispose()

    asyncio.run(main())


def test_stores_are_found_by_their_uris(tmp_path: Path) -> None:
    registry = compose("minimal").registry
    store = registry.find(SessionBackend, "sqlite+aiosqlite").open(f"sqlite+aiosqlite:///{tmp_path}/s.db")
    assert isinstance(store, DatabaseSessionService)
    assert registry.find(SessionBackend, "mysql+asyncmy").name == "mysql+asyncmy"


def test_a_file_of_google_adk_is_refused_by_both(tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE sessions (id TEXT); CREATE TABLE app_states (x TEXT); CREATE TABLE user_states (x TEXT);"
        "CREATE TABLE events (id TEXT, invocation_id TEXT, actions BLOB)"
    )
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=r"before 1\.22, with pickled actions: schema v0.*import-adk"):
        SqliteSessionService(path)

    async def main() -> None:
        store = DatabaseSessionService(f"sqlite:///{path}")
        with pytest.raises(ConfigurationError, match="schema v0"):
            await store.list_sessions(app_name="app")
        await store.close()

    asyncio.run(main())
    assert path.read_bytes() == before


@pytest.mark.parametrize("service", SERVICES)
def test_an_append_waits_for_the_end_of_a_read_only_failover(postgres: Callable[[], str], service: Any) -> None:
    url = postgres()
    name = url.rpartition("/")[2].partition("?")[0]

    async def main() -> None:
        store = service(url)
        session = await store.create_session(**WHERE)
        # As on a standby: the open connections are cut, and the new ones may only read.
        await sql(url, f'ALTER DATABASE "{name}" SET default_transaction_read_only = on', CUT)
        append = asyncio.ensure_future(store.append_event(session, said("during", state={"n": 1})))
        await asyncio.sleep(0.7)
        assert not append.done()
        await sql(url, "SET default_transaction_read_only = off", f'ALTER DATABASE "{name}" RESET ALL')
        # SQLAlchemy keeps the connection that it has: it is told as a promoted server tells nobody.
        await sql(url, CUT)
        await append
        stored = await store.get_session(**WHERE)
        assert [event.content.parts[0].text for event in stored.events] == ["during"]
        assert stored.state == {"n": 1}
        await store.close()

    asyncio.run(asyncio.wait_for(main(), 30))


@pytest.mark.parametrize(
    "error", [asyncpg.DuplicatePreparedStatementError("exists"), asyncpg.InvalidSQLStatementNameError("is gone")]
)
def test_a_pooler_without_the_parameter_is_named_with_the_remedy(error: Exception) -> None:
    access = access_of("postgresql://u@pool/db", "", 8, False, 15.0, "session store")
    with pytest.raises(ConfigurationError, match="add proxy=true to the URL"), translated(access):
        raise error
