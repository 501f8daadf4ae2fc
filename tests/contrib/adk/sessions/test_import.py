"""The import of google-adk's databases. Those in `data` were written by the releases that they are named after."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.dialects import mysql
from sqlalchemy.ext.asyncio import create_async_engine

from newel.agents import LlmAgent
from newel.runners import Runner
from newel.sessions import DatabaseSessionService, InMemorySessionService, SqliteSessionService, StoreUnavailableError
from newel.sessions.stored.imports import ImportEvents
from newel.sessions.stored.service import StoredSessionService
from newel_adk.sessions import Choice, Report, import_sessions, importer
from newel_kernel import ConfigurationError, Event, Session
from newel_postgres import PostgresSessionService
from newel_types import Content, Part

Make = Callable[[], StoredSessionService]
DATA = Path(__file__).parent / "data"
FILES = ("adk-1.10.0-database-v0", "adk-1.24.1-database", "adk-2.13.0-sqlite")
#: What the tables of 1.10.0 have no column for.
LACKING = {"adk-1.10.0-database-v0": ("customMetadata", "usageMetadata")}
COMPARED = (
    "longRunningToolIds",
    "groundingMetadata",
    "usageMetadata",
    "customMetadata",
    "branch",
    "errorCode",
    "errorMessage",
    "turnComplete",
    "interrupted",
)
_TIME = sqlalchemy.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
#: The types of its columns on a server, where they are others than in SQLite.
TYPES: dict[str, sqlalchemy.types.TypeEngine[Any]] = {
    **dict.fromkeys(("timestamp", "create_time", "update_time"), _TIME),
    **dict.fromkeys(("content", "grounding_metadata", "state"), sqlalchemy.JSON(none_as_null=True)),
}
SERVICE_TABLES = """
    CREATE TABLE app_states (app_name TEXT PRIMARY KEY, state TEXT NOT NULL, update_time REAL NOT NULL);
    CREATE TABLE user_states (app_name TEXT NOT NULL, user_id TEXT NOT NULL, state TEXT NOT NULL,
        update_time REAL NOT NULL, PRIMARY KEY (app_name, user_id));
    CREATE TABLE sessions (app_name TEXT NOT NULL, user_id TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL,
        create_time REAL NOT NULL, update_time REAL NOT NULL, PRIMARY KEY (app_name, user_id, id));
    CREATE TABLE events (id TEXT NOT NULL, app_name TEXT NOT NULL, user_id TEXT NOT NULL, session_id TEXT NOT NULL,
        invocation_id TEXT NOT NULL, timestamp REAL NOT NULL, event_data TEXT NOT NULL,
        PRIMARY KEY (app_name, user_id, session_id, id));
"""


class Theirs:
    """A file as SqliteSessionService of google-adk makes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(SERVICE_TABLES)

    def session(self, id_: str = "s", state: str = "{}") -> None:
        self.connection.execute("INSERT INTO sessions VALUES ('shop', 'ann', ?, ?, 5.5, 5.5)", (id_, state))

    def event(self, id_: str, data: Mapping[str, Any] | str, time: float = 10.0, session: str = "s") -> None:
        text = data if isinstance(data, str) else json.dumps({"author": "clerk", "timestamp": time, **data})
        row = (id_, session, time, text)
        self.connection.execute("INSERT INTO events VALUES (?, 'shop', 'ann', ?, 'i', ?, ?)", row)


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Theirs]:
    made = Theirs(tmp_path / "theirs.db")
    yield made
    made.connection.close()


def text(words: str) -> dict[str, Any]:
    return {"content": {"role": "model", "parts": [{"text": words}]}}


def call(*ids: str, **more: Any) -> dict[str, Any]:
    parts = [{"function_call": {"id": id_, "name": "add", "args": {}}} for id_ in ids]
    return {"content": {"role": "model", "parts": parts}, **more}


def result(*ids: str, author: str = "clerk") -> dict[str, Any]:
    parts = [{"function_response": {"id": id_, "name": "add", "response": {"sum": 3}}} for id_ in ids]
    return {"content": {"role": "user", "parts": parts}, "author": author}


def brought(url: object, path: Path, choice: Choice | None = None, **more: Any) -> Report:
    """The report of an import into the file `path`."""
    return asyncio.run(import_sessions(str(url), file(path), choice or Choice(), **more))


def read(make: Make, *keys: Sequence[str]) -> list[Session]:
    """Sessions of a store, whose events are lists of their own."""

    async def reading() -> list[Session]:
        async with make() as store:
            found = [await store.get_session(app_name=app, user_id=user, session_id=id_) for app, user, id_ in keys]
            assert None not in found
            return [session for session in found if session is not None]

    return asyncio.run(reading())


def file(path: Path) -> Make:
    return lambda: SqliteSessionService(path)


def events_of(path: Path, session: str = "s", user: str = "ann") -> list[Event]:
    return list(read(file(path), ("shop", user, session))[0].events)


def fields_of(event: Event) -> dict[str, Any]:
    data = event.model_dump(mode="json", by_alias=True, exclude_none=True)
    actions = data.get("actions", {})
    parts = event.content.parts or [] if event.content else []
    return {
        "id": event.id,
        "author": event.author,
        "invocationId": event.invocation_id,
        "timestamp": event.timestamp,
        "text": "".join(part.text or "" for part in parts),
        "calls": [[c.name, c.id, c.args] for c in event.get_function_calls()],
        "results": [[r.name, r.id, r.response] for r in event.get_function_responses()],
        "bytes": [len(part.inline_data.data or b"") for part in parts if part.inline_data],
        "actions": {name: value for name, value in actions.items() if value not in ({}, [], None, False)},
        **{name: data[name] for name in COMPARED if data.get(name)},
    }


def check(make: Make, name: str) -> None:
    """Whether a store has what google-adk had."""
    expected = json.loads((DATA / f"{name}.expected.json").read_text())["sessions"]
    sessions = read(make, *((one["app"], one["user"], one["id"]) for one in expected))
    for session, wanted in zip(sessions, expected, strict=True):
        assert dict(session.state) == wanted["state"]
        assert len(session.events) == len(wanted["events"])
        for event, fields in zip(session.events, wanted["events"], strict=True):
            there = {key: value for key, value in fields.items() if key not in LACKING.get(name, ())}
            if name in LACKING:  # their times have microseconds
                there["timestamp"] = pytest.approx(there["timestamp"], abs=2e-6)
            assert fields_of(event) == there


@pytest.mark.parametrize("name", FILES)
def test_everything_comes_over(name: str, tmp_path: Path) -> None:
    copy = Path(shutil.copy(DATA / f"{name}.db", tmp_path))
    before = copy.read_bytes()
    report = brought(copy, tmp_path / "ours.db")
    assert (report.complete, report.sessions_added, report.repaired) == (True, 7, [])
    check(file(tmp_path / "ours.db"), name)
    assert copy.read_bytes() == before


def test_a_database_on_postgres_comes_over(postgres: Callable[[], str], tmp_path: Path) -> None:
    import asyncpg

    url, name = postgres(), "adk-2.13.0-postgres"

    async def load() -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute((DATA / f"{name}.sql").read_text())
        finally:
            await connection.close()

    asyncio.run(load())
    report = brought(url.replace("postgresql", "postgresql+psycopg2"), tmp_path / "ours.db")
    assert (report.complete, report.sessions_added) == (True, 7)
    check(file(tmp_path / "ours.db"), name)


@pytest.mark.parametrize("server", ["postgres", "mariadb"])
def test_pickled_rows_on_a_server_come_over(server: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url, name = request.getfixturevalue(server)(), "adk-1.10.0-database-v0"
    asyncio.run(copied(DATA / f"{name}.db", url.replace("postgresql:", "postgresql+asyncpg:")))
    report = brought(url, tmp_path / "ours.db")
    assert (report.complete, report.sessions_added, report.repaired) == (True, 7, [])
    check(file(tmp_path / "ours.db"), name)


async def copied(source: Path, url: str) -> None:
    """The tables of an SQLite file of 1.10.0 with the types that they have on a server, and their rows."""
    tables = sqlalchemy.MetaData()
    here = sqlalchemy.create_engine(f"sqlite:///{source}")
    with here.connect() as connection:
        tables.reflect(connection)
        for column in (column for table in tables.sorted_tables for column in table.columns):
            column.type = TYPES.get(column.name) or column.type.as_generic()
        rows = {table: connection.execute(table.select()).mappings().all() for table in tables.sorted_tables}
    here.dispose()
    there = create_async_engine(url)
    async with there.begin() as connection_there:
        await connection_there.run_sync(tables.create_all)
        for table, some in rows.items():
            if some:
                await connection_there.execute(table.insert(), [dict(row) for row in some])
    await there.dispose()


@pytest.mark.parametrize("kind", ["postgres", "database-postgres", "database-mariadb", "database-sqlite"])
def test_every_stored_service_takes_it_in_once(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if kind == "database-sqlite":
        url = f"sqlite+aiosqlite:///{tmp_path}/ours.db"
    else:
        url = request.getfixturevalue("mariadb" if kind == "database-mariadb" else "postgres")()
    make = PostgresSessionService if kind == "postgres" else DatabaseSessionService
    name = "adk-2.13.0-sqlite"
    reports = [asyncio.run(import_sessions(str(DATA / f"{name}.db"), lambda: make(url), Choice())) for _ in range(2)]
    assert [(one.sessions_added, one.sessions_there, one.complete) for one in reports] == [(7, 0, True), (0, 7, True)]
    assert reports[1].events_added == 0
    check(lambda: make(url), name)


def test_a_run_goes_on_where_it_waited(tmp_path: Path) -> None:
    brought(DATA / "adk-2.13.0-sqlite.db", tmp_path / "ours.db", Choice(session="waiting"))

    async def talk() -> list[Event]:
        message = Content(role="user", parts=[Part(text="and now?")])
        async with SqliteSessionService(tmp_path / "ours.db") as store:
            runner = Runner(app_name="shop", agent=LlmAgent(name="clerk", model="echo:"), session_service=store)
            run = runner.run_async(user_id="bob", session_id="waiting", new_message=message)
            return [event async for event in run]

    (answer,) = asyncio.run(talk())
    assert answer.author == "clerk"
    assert len(events_of(tmp_path / "ours.db", "waiting", "bob")) == 8


# --- order, times, state ------------------------------------------------------------------------------------------


def test_the_order_is_that_of_time_and_then_of_rows(theirs: Theirs, tmp_path: Path) -> None:
    theirs.session()
    for id_, time in (("z", 2.0), ("b", 1.0), ("a", 1.0), ("y", 2.0)):
        theirs.event(id_, text(id_), time)
    brought(theirs.path, tmp_path / "ours.db")
    assert [(one.id, one.timestamp) for one in events_of(tmp_path / "ours.db")] == [
        ("b", 1.0),
        ("a", 1.0),
        ("z", 2.0),
        ("y", 2.0),
    ]


def test_times_without_a_zone_are_of_the_zone_that_is_said(tmp_path: Path) -> None:
    from zoneinfo import ZoneInfo

    for name, zone, shift in (("utc", UTC, 0), ("east", ZoneInfo("Asia/Tokyo"), 9 * 3600)):
        brought(DATA / "adk-1.10.0-database-v0.db", tmp_path / f"{name}.db", Choice(session="plain"), zone=zone)
        assert events_of(tmp_path / f"{name}.db", "plain")[0].timestamp == 1767225600.125 - shift


def test_columns_that_an_earlier_release_lacks_are_absent(tmp_path: Path) -> None:
    copy = shutil.copy(DATA / "adk-1.10.0-database-v0.db", tmp_path)
    with sqlite3.connect(copy) as connection:
        for column in ("branch", "grounding_metadata", "interrupted", "long_running_tool_ids_json"):
            connection.execute(f"ALTER TABLE events DROP COLUMN {column}")
    connection.close()
    report = brought(copy, tmp_path / "ours.db")
    assert report.complete
    assert [one.branch for one in events_of(tmp_path / "ours.db", "grounded")] == [None, None, None]


def test_shared_state_that_is_there_stays(theirs: Theirs, tmp_path: Path) -> None:
    path = tmp_path / "ours.db"
    theirs.session("s", '{"n": 1, "nothing": null}')
    theirs.connection.execute("INSERT INTO app_states VALUES ('shop', '{\"a\": 1, \"b\": 2}', 0)")
    theirs.connection.execute("INSERT INTO user_states VALUES ('shop', 'ann', '{\"u\": 1}', 0)")
    theirs.connection.execute("INSERT INTO user_states VALUES ('shop', 'left', '{\"u\": 2}', 0)")

    async def first() -> None:
        async with SqliteSessionService(path) as store:
            await store.create_session(app_name="shop", user_id="eve", state={"app:a": "ours"})

    asyncio.run(first())
    brought(theirs.path, path)
    (session,) = read(file(path), ("shop", "ann", "s"))
    assert dict(session.state) == {"n": 1, "nothing": None, "app:a": "ours", "app:b": 2, "user:u": 1}

    async def of_left() -> dict[str, Any]:
        async with SqliteSessionService(path) as store:
            return dict((await store.create_session(app_name="shop", user_id="left")).state)

    assert asyncio.run(of_left())["user:u"] == 2


# --- what is wrong in a database ----------------------------------------------------------------------------------


def test_what_cannot_be_read_is_named_and_the_rest_comes_over(theirs: Theirs, tmp_path: Path) -> None:
    theirs.session()
    theirs.session("broken", "{no json")
    theirs.event("good", {**text("x"), "fieldOfTomorrow": 1, "actions": {"action_of_tomorrow": [1], "escalate": True}})
    theirs.event("digits", '{"author": "a", "customMetadata": {"n": %s}}' % ("9" * 5001))
    theirs.event("cut", '{"author": "a", "cont')
    theirs.event("deep", '{"author": "a", "customMetadata": {"n": %s}}' % ("[" * 400 + "]" * 400))
    theirs.event("list", "[1]")
    theirs.event("kind", '{"author": "a", "content": 7}')
    theirs.connection.execute(
        "INSERT INTO events VALUES ('bytes', 'shop', 'ann', 's', 'i', 1.0, CAST(? AS TEXT))", (b'{"author": "\xff"}',)
    )
    theirs.connection.execute("INSERT INTO sessions VALUES ('shop', 'ann', CAST(? AS TEXT), '{}', 1, 1)", (b"\xff",))
    theirs.event("lost", text("x"), session="no such session")
    theirs.event("last", text("y"))
    report = brought(theirs.path, tmp_path / "ours.db")
    assert {(one.table, one.key[2:]) for one in report.unreadable} == {
        *(("events", ("s", id_)) for id_ in ("digits", "cut", "deep", "list", "kind", "bytes")),
        ("sessions", ("broken",)),
        ("sessions", ("?",)),
    }
    assert all(one.reason for one in report.unreadable)
    assert [one.key for one in report.orphans] == [("shop", "ann", "no such session", "lost")]
    assert report.unknown_fields == {"action_of_tomorrow": 1}
    assert not report.complete
    good, last = events_of(tmp_path / "ours.db")
    assert (good.id, good.actions.escalate, last.id) == ("good", True, "last")


def test_a_pickle_runs_nothing(tmp_path: Path) -> None:
    copy = shutil.copy(DATA / "adk-1.10.0-database-v0.db", tmp_path)
    trap = tmp_path / "trap"

    class Command:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.system, (f"touch {trap}",)

    with sqlite3.connect(copy) as connection:
        for event, blob in (
            ("plai1", pickle.dumps(Command())),
            ("grou1", f"cbuiltins\neval\n(S'open({str(trap)!r}, \"w\")'\ntR.".encode()),
            ("file1", pickle.dumps({"a": 1})[:-3]),
        ):
            connection.execute("UPDATE events SET actions = ? WHERE id = ?", (blob, event))
    connection.close()
    report = brought(copy, tmp_path / "ours.db")
    assert not trap.exists()
    assert sorted(one.key[-1] for one in report.unreadable) == ["file1", "grou1", "plai1"]
    assert report.sessions_added == 7
    assert [one.id for one in events_of(tmp_path / "ours.db", "plain")] == ["plai0", "plai2", "plai3"]


def test_calls_and_results_are_paired(theirs: Theirs, tmp_path: Path) -> None:
    theirs.session()
    theirs.event("calls", call("1", "2"), 1)
    theirs.event("half", result("1", "unknown"), 2)
    theirs.event("asks", call("3", long_running_tool_ids=["3"]), 3)
    theirs.event("stray", result("nobody's"), 4)
    theirs.event("again", call("1"), 5)
    theirs.event("user", result("elsewhere", author="user"), 6)
    report = brought(theirs.path, tmp_path / "ours.db")
    assert [one.key[-1] for one in report.repaired] == ["again", "calls", "half", "stray"]
    events = events_of(tmp_path / "ours.db")
    assert [one.id for one in events] == [
        "calls",
        "calls-unanswered",
        "half",
        "asks",
        "again",
        "again-unanswered",
        "user",
    ]
    (answer,) = events[1].get_function_responses()
    assert (answer.id, answer.name, "has no result" in str(answer.response)) == ("2", "add", True)
    assert [one.id for one in events[2].get_function_responses()] == ["1"]
    assert brought(theirs.path, tmp_path / "ours.db").events_added == 0


# --- again, and further -------------------------------------------------------------------------------------------


def test_an_import_that_ends_early_goes_on(theirs: Theirs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "CHUNK", 7)
    for session in ("a", "b", "c"):
        theirs.session(session, '{"n": 1}')
        for n in range(30):
            theirs.event(f"{session}{n}", call(str(n)) if n % 5 == 0 else text("x"), n, session)
    import_events, left = SqliteSessionService.import_events, [0]

    async def failing(self: StoredSessionService, write: ImportEvents) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise StoreUnavailableError("the disk is gone")
        return await import_events(self, write)

    for attempt in range(1, 30):
        left[0] = attempt
        with monkeypatch.context() as patch:
            patch.setattr(SqliteSessionService, "import_events", failing)
            try:
                brought(theirs.path, tmp_path / f"{attempt}.db")
                break
            except StoreUnavailableError:
                pass
        assert brought(theirs.path, tmp_path / f"{attempt}.db").complete
        brought(theirs.path, tmp_path / "whole.db")
        keys = [("shop", "ann", session) for session in ("a", "b", "c")]
        all_whole = read(file(tmp_path / "whole.db"), *keys)
        for whole, resumed in zip(all_whole, read(file(tmp_path / f"{attempt}.db"), *keys), strict=True):
            assert (resumed.events, dict(resumed.state)) == (whole.events, {"n": 1})
            assert len(resumed.events) == 36
    assert attempt > 10


def test_what_was_added_since_comes_over_unless_the_session_went_on_here(theirs: Theirs, tmp_path: Path) -> None:
    path = tmp_path / "ours.db"
    theirs.session()
    theirs.event("1", text("x"), 1)
    brought(theirs.path, path)
    theirs.event("2", text("y"), 2)
    report = brought(theirs.path, path)
    assert (report.sessions_continued, report.events_added, report.events_there) == (1, 1, 1)

    async def go_on() -> None:
        async with SqliteSessionService(path) as store:
            session = await store.get_session(app_name="shop", user_id="ann", session_id="s")
            assert session is not None
            await store.append_event(session, Event(author="user", message="here"))

    asyncio.run(go_on())
    assert (brought(theirs.path, path).complete, len(events_of(path))) == (True, 3)
    theirs.event("3", text("z"), 3)
    report = brought(theirs.path, path)
    assert [one.key for one in report.conflicts] == [("shop", "ann", "s")]
    assert len(events_of(path)) == 3


@pytest.mark.parametrize(
    ("choice", "sessions"),
    [
        (Choice(), 3),
        (Choice(user="ann"), 2),
        (Choice(session="1"), 2),
        (Choice("shop", "eve", "1"), 1),
        (Choice(app="none"), 0),
    ],
)
def test_a_choice_is_brought(choice: Choice, sessions: int, theirs: Theirs, tmp_path: Path) -> None:
    theirs.session("1")
    theirs.session("2")
    theirs.connection.execute("INSERT INTO sessions VALUES ('shop', 'eve', '1', '{}', 1, 1)")
    assert brought(theirs.path, tmp_path / "ours.db", choice).sessions_added == sessions


# --- what is refused ----------------------------------------------------------------------------------------------


def test_other_databases_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    other, path = tmp_path / "other.db", tmp_path / "ours.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE sessions (id TEXT)")
    connection.close()
    (tmp_path / "text.db").write_text("no database" * 100)
    for url, message in (
        (other, r"is not one of google-adk's \(tables: sessions\)"),
        (tmp_path / "nowhere.db", "there is no database"),
        (tmp_path / "text.db", "cannot be read: file is not a database"),
        ("mongodb://127.0.0.1/x", "name a database of|is not a database URL|cannot be"),
        ("postgresql://postgres:geheim@127.0.0.1:1/x", "cannot be read"),
    ):
        with pytest.raises(ConfigurationError, match=message) as raised:
            brought(url, path)
        assert "geheim" not in str(raised.value)
        assert not path.exists()


def test_a_later_schema_is_refused(tmp_path: Path) -> None:
    copy = shutil.copy(DATA / "adk-1.24.1-database.db", tmp_path)
    with sqlite3.connect(copy) as connection:
        connection.execute("UPDATE adk_internal_metadata SET value = '2'")
    connection.close()
    with pytest.raises(ConfigurationError, match="schema version 2"):
        brought(copy, tmp_path / "ours.db")


def test_a_store_that_cannot_take_it_in_says_so(theirs: Theirs) -> None:
    with pytest.raises(ConfigurationError, match="InMemorySessionService cannot take in sessions"):
        asyncio.run(import_sessions(str(theirs.path), InMemorySessionService, Choice()))
