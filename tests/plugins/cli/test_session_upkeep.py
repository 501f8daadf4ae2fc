"""`newel sessions fork`, `rewind`, `compact`, `delete --older-than`, `vacuum`, `backup`, `import` of exports."""

from __future__ import annotations

import asyncio
import json
import math
import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from newel.sessions import DatabaseSessionService, SqliteSessionService
from newel.sessions.contract import SharedSessionStore
from newel_kernel import Event, EventActions
from newel_postgres import PostgresSessionService
from newel_types import Blob, Content, FunctionCall, FunctionResponse, Part

WHERE = {"app_name": "a", "user_id": "user"}


class Place:
    """An agent `a.yaml` whose sessions are in a store."""

    def __init__(self, project: Any, uri: str, open_: Callable[[], SharedSessionStore]) -> None:
        self.project = project
        self.uri = uri
        self.open = open_
        project.write("a.yaml", "name: a\nmodel: 'echo:'\n")

    def newel(self, *args: str, **options: Any) -> Any:
        return self.project.newel(*args, "--sessions", self.uri, **options)

    def refused(self, *args: str) -> str:
        refused: str = self.project.refused(*args, "--sessions", self.uri)
        return refused

    def say(self, session: str, *messages: str) -> None:
        for message in messages:
            assert self.newel("run", "a.yaml", message, "--session", session).exit_code == 0

    def exported(self, session: str) -> Any:
        return json.loads(self.newel("sessions", "export", "a.yaml", session).stdout)

    def ids(self) -> list[str]:
        listed = json.loads(self.newel("sessions", "list", "a.yaml").stdout)
        return sorted(one["id"] for one in listed)

    def work(self, work: Callable[[SharedSessionStore], Any]) -> Any:
        """What `work` makes of the store, in another service."""

        async def run() -> Any:
            store = self.open()
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(run())

    def claim(self, session: str, ttl: float = 3600.0) -> None:
        """Let another process have the session."""
        held = self.work(lambda store: store.claim(**WHERE, session_id=session, owner="another/worker", ttl=ttl))
        assert held is not None


@pytest.fixture(params=["sqlite", "postgres", "database-sqlite", "database-mariadb"])
def place(request: pytest.FixtureRequest, project: Any) -> Place:
    if request.param == "sqlite":
        return Place(project, "sqlite:///s.db", lambda: SqliteSessionService("sqlite:///s.db"))
    if request.param == "database-sqlite":
        uri = "sqlite+aiosqlite:///s.db"
        return Place(project, uri, lambda: DatabaseSessionService(uri))
    if request.param == "postgres":
        url = request.getfixturevalue("postgres")()
        project.install("newel-postgres", {"postgres_sessions": "newel_postgres.plugin"}, {})
        return Place(project, url, lambda: PostgresSessionService(url))
    url = request.getfixturevalue("mariadb")()
    return Place(project, url, lambda: DatabaseSessionService(url))


@pytest.fixture
def file(project: Any) -> Place:
    return Place(project, "sqlite:///s.db", lambda: SqliteSessionService("sqlite:///s.db"))


def test_a_fork_goes_on_by_itself(place: Place) -> None:
    place.say("one", "first", "second")
    made = place.newel("sessions", "fork", "a.yaml", "on", "--as", "two", "--events", "2").stdout
    assert made == "forked into two of user, with 2 events\n"
    place.say("two", "other")
    assert [event["author"] for event in place.exported("two")["events"]] == ["user", "a", "user", "a"]
    assert place.exported("two")["events"][:2] == place.exported("one")["events"][:2]
    assert len(place.exported("one")["events"]) == 4
    assert place.refused("sessions", "fork", "a.yaml", "one", "--as", "two") == "Session with id two already exists."


def test_a_fork_does_not_cut_calls_from_their_results(file: Place) -> None:
    def call(*ids: str) -> Content:
        return Content(role="model", parts=[Part(function_call=FunctionCall(id=id_, name="f")) for id_ in ids])

    def result(id_: str) -> Content:
        return Content(role="user", parts=[Part(function_response=FunctionResponse(id=id_, name="f", response={}))])

    events = [
        Event(author="a", content=call("lost")),
        Event(author="user", message="go on"),
        Event(author="a", content=call("1", "2")),
        Event(author="a", content=result("1")),
        Event(author="a", content=result("2")),
        Event(author="a", content=call("asked"), long_running_tool_ids={"asked"}),
        Event(author="user", content=result("asked")),
    ]

    async def said(store: SharedSessionStore) -> None:
        session = await store.create_session(**WHERE, session_id="one")
        for event in events:
            await store.append_event(session, event)

    file.work(said)
    for count in (3, 4):
        refused = file.refused("sessions", "fork", "a.yaml", "one", "--events", str(count))
        assert f"the first {count} events of one end between a call and its result: give --events 2 or 5" in refused
    assert file.ids() == ["one"]
    for count in (0, 1, 2, 5, 6, 7, 8):
        made = file.newel("sessions", "fork", "a.yaml", "one", "--as", f"fork{count}", "--events", str(count)).stdout
        assert made == f"forked into fork{count} of user, with {min(count, 7)} events\n"


def test_a_rewind_takes_turns_back(place: Place) -> None:
    place.say("one", "first", "second", "third")
    said = place.newel("sessions", "rewind", "a.yaml", "one", "--turns", "2").stdout
    assert said == "rewound 2 turns, to before: second\n"
    place.say("one", "fourth")
    last = place.exported("one")["events"][-2]["invocationId"]
    first = place.exported("one")["events"][0]["invocationId"]
    said = place.newel("sessions", "rewind", "a.yaml", "one", "--before", last).stdout
    assert said == "rewound 1 turn, to before: fourth\n"
    assert "has 1 turns that count" in place.refused("sessions", "rewind", "a.yaml", "one", "--turns", "2")
    assert "no invocation that counts begins with" in place.refused(
        "sessions", "rewind", "a.yaml", "one", "--before", last
    )
    assert place.newel("sessions", "rewind", "a.yaml", "one", "--before", first).exit_code == 0
    assert json.loads(place.newel("sessions", "verify", "a.yaml").stdout)[0]["problems"] == []


def test_what_was_compacted_stays_in_the_log(place: Place) -> None:
    place.say("one", "first", "second", "third")
    assert (
        "nothing to compact: no finished exchange is older than the last 10"
        in place.newel("sessions", "compact", "a.yaml", "one").stdout
    )
    said = place.newel("sessions", "compact", "a.yaml", "one", "--keep", "2", "--model", "demo:").stdout
    assert said.startswith("compacted into: ")
    events = place.exported("one")["events"]
    assert len(events) == 7
    compaction = events[-1]["actions"]["compaction"]
    assert (compaction["startTimestamp"], compaction["endTimestamp"]) == (
        events[0]["timestamp"],
        events[3]["timestamp"],
    )
    assert "nothing to compact" in place.newel("sessions", "compact", "a.yaml", "one", "--keep", "2").stdout


@pytest.mark.parametrize("command", [("delete", "--yes"), ("rewind",), ("compact", "--keep", "0")], ids=lambda c: c[0])
def test_a_session_with_a_run_is_left_alone(place: Place, command: tuple[str, ...]) -> None:
    place.say("one", "first")
    before = place.exported("one")
    place.claim("one")
    name, *options = command
    refused = place.refused("sessions", name, "a.yaml", "one", *options)
    assert refused.startswith("the session 'one' has a run already, in another process (another/worker): wait for")
    assert place.exported("one") == before


def test_sessions_that_nobody_used_are_deleted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for session in ("old", "used", "busy"):
        place.say(session, "hi")
    now = time.time
    monkeypatch.setattr("newel_kernel._internal.seam.clock", lambda: now() + 31 * 86400)
    place.say("used", "again")
    place.claim("busy")
    would = place.newel("sessions", "delete", "a.yaml", "--older-than", "30d", "--dry-run").stdout
    assert sorted(would.splitlines()[:2]) == ["would delete busy", "would delete old"]
    assert place.ids() == ["busy", "old", "used"]
    assert "cannot ask whether to delete 2 sessions unused since" in place.refused(
        "sessions", "delete", "a.yaml", "--older-than", "30d"
    )
    done = place.newel("sessions", "delete", "a.yaml", "--older-than", "30d", "--yes")
    assert done.stdout.startswith("deleted 1 of 2 sessions unused since ")
    assert done.stderr == "busy has a run, and is skipped\n"
    assert place.ids() == ["busy", "used"]
    assert place.newel("sessions", "vacuum", "a.yaml").stdout == "the space of deleted data is free\n"
    assert place.ids() == ["busy", "used"]


def test_times_that_no_calendar_has_are_shown(file: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"a": math.inf, "b": math.nan, "c": 1e300, "d": -1e15}

    async def said(store: SharedSessionStore) -> None:
        for id_, timestamp in times.items():
            session = await store.create_session(**WHERE, session_id=id_)
            await store.append_event(session, Event(author="user", message=f"at {timestamp:g}", timestamp=timestamp))

    file.work(said)
    done = file.newel("sessions", "delete", "a.yaml", "--older-than", "999999w", "--yes").stdout
    assert done.startswith("deleted 1 of 2 sessions unused since -6.0")
    monkeypatch.setattr("newel.cli.sessions.to_terminal", lambda: True)
    listed = file.newel("sessions", "list", "a.yaml").stdout
    for timestamp in (math.inf, math.nan, 1e300):
        assert listed.count(f"{timestamp:g}") == 2


def test_a_session_that_was_used_meanwhile_is_not_deleted(file: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from newel.cli import agent_sessions

    file.say("one", "hi")
    ask = agent_sessions.AgentSessions.held

    def held(self: Any, session: Any) -> Any:  # between the list and the lease, somebody goes on with it
        with sqlite3.connect("s.db") as connection:
            number, version = connection.execute("SELECT number, version FROM sessions").fetchone()
            data = Event(author="user", message="I am back", timestamp=time.time() + 1e9)
            connection.execute(
                "INSERT INTO events VALUES (?, ?, ?, ?)",
                (number, version, data.timestamp, data.model_dump_json(by_alias=True, exclude_none=True)),
            )
            connection.execute("UPDATE sessions SET version = version + 1, update_time = ?", (data.timestamp,))
        connection.close()
        return ask(self, session)

    monkeypatch.setattr(agent_sessions.AgentSessions, "held", held)
    now = time.time
    monkeypatch.setattr("newel_kernel._internal.seam.clock", lambda: now() + 31 * 86400)
    done = file.newel("sessions", "delete", "a.yaml", "--older-than", "30d", "--yes")
    assert done.stdout.startswith("deleted 0 of 1 session unused since")
    assert file.ids() == ["one"]


def _text(document: Any) -> str:
    """For NaN is not equal to itself; the keys of a state have no order."""
    return json.dumps(document, sort_keys=True)


def test_an_export_is_taken_in_as_it_was(place: Place, project: Any) -> None:
    state = {
        "nan": float("nan"),
        "zero": -0.0,
        "big": 2**70,
        "nul": "\0",
        "user:name": "Ann",
        "app:x": [1, {"y": None}],
    }

    async def fill(store: SharedSessionStore) -> None:
        session = await store.create_session(**WHERE, session_id="odd", state={"none": None})
        content = Content(
            role="user", parts=[Part(text="é\u202e"), Part(inline_data=Blob(mime_type="x", data=b"\xff\xfe"))]
        )
        event = Event(author="user", content=content, actions=EventActions(state_delta=state))
        await store.append_event(session, event)
        await store.append_event(session, Event(author="a", message="ok", state={"zero": None}))

    place.work(fill)
    assert place.newel("sessions", "export", "a.yaml", "odd", "-o", "odd.json").exit_code == 0
    before = place.exported("odd")
    assert repr(before["state"]["nan"]) == "nan"
    taken = project.newel("sessions", "import", "odd.json", "--sessions", "sqlite:///other.db")
    assert taken.stdout == "odd of user: added, with 2 events\n"
    other = Place(project, "sqlite:///other.db", lambda: SqliteSessionService("sqlite:///other.db"))
    assert _text(other.exported("odd")) == _text(before)
    again = project.newel("sessions", "import", "odd.json", "--sessions", "sqlite:///other.db")
    assert again.stdout == "odd of user: was already there\n"
    assert place.newel("sessions", "delete", "a.yaml", "odd", "--yes").exit_code == 0
    assert place.newel("sessions", "import", "odd.json").exit_code == 0
    assert _text(place.exported("odd")) == _text(before)
    place.say("odd", "go on")
    assert "has a session 'odd' of 'user' with other events" in place.refused("sessions", "import", "odd.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("events"), "it is not an exported session: events: Field required"),
        (lambda d: d["events"].pop(), "it has 1 events, but its event_count is 2"),
        (lambda d: d["events"][1].pop("id"), "event 1 has no id or no timestamp"),
        (lambda d: d["events"][1].update(id=d["events"][0]["id"]), "there are two events with the id"),
        (lambda d: d["events"][1].update(timestamp="soon"), "event 1 cannot be read: timestamp: "),
        (lambda d: d.update(of_tomorrow=1), "it is not an exported session: of_tomorrow: Extra inputs are not"),
        (lambda d: d.update(id=" "), "the id ' ' is blank"),
        (
            lambda d: d["events"][1]["content"]["parts"].append({"functionResponse": {"id": "c9", "name": "f"}}),
            "has results without a call (c9)",
        ),
    ],
)
def test_a_document_that_is_wrong_is_refused_whole(file: Place, project: Any, change: Any, message: str) -> None:
    file.say("one", "hi")
    document = file.exported("one")
    project.write("good.json", json.dumps({**document, "id": "two"}))
    change(document)
    project.write("bad.json", json.dumps(document))
    refused = file.project.refused("sessions", "import", "good.json", "bad.json", "--sessions", "sqlite:///new.db")
    assert refused.startswith("bad.json: ")
    assert message in refused


def test_a_backup_while_it_is_written_is_of_one_moment(file: Place, project: Any) -> None:
    file.say("one", "hi")
    begun, stop, written = threading.Event(), threading.Event(), []

    async def write() -> None:
        async with SqliteSessionService("sqlite:///s.db") as store:
            session = await store.open(**WHERE, session_id="one")
            assert session is not None
            while not stop.is_set():
                number = len(written)
                await store.append_event(session, Event(author="user", message="x" * 2000, state={"n": number}))
                written.append(number)
                begun.set()

    writer = threading.Thread(target=lambda: asyncio.run(write()))
    writer.start()
    try:
        assert begun.wait(60)
        counts = []
        for name in ("b1.db", "b2.db", "b3.db"):
            seen = len(written)
            assert file.newel("sessions", "backup", "a.yaml", name).exit_code == 0
            counts.append((seen, name))
    finally:
        stop.set()
        writer.join()
    for seen, name in counts:
        copy = Place(project, f"sqlite:///{name}", lambda: SqliteSessionService(f"sqlite:///{name}"))  # noqa: B023
        document = copy.exported("one")
        assert seen <= document["state"]["n"] + 1 <= len(written)
        assert [event["actions"]["stateDelta"]["n"] for event in document["events"][2:]] == list(
            range(document["state"]["n"] + 1)
        )
        assert json.loads(copy.newel("sessions", "verify", "a.yaml").stdout)[0]["problems"] == []
    assert {one for one in project.files() if "unfinished" in one} == set()
    assert oct((project.path / "b1.db").stat().st_mode)[-3:] == "600" or os.name == "nt"


def test_nothing_of_what_was_deleted_is_in_a_file_after_a_vacuum(file: Place, project: Any) -> None:
    file.say("one", "hi")
    file.say("secret", "the-word-that-is-secret " * 2000)
    size = (project.path / "s.db").stat().st_size
    assert file.newel("sessions", "delete", "a.yaml", "secret", "--yes").exit_code == 0
    assert file.newel("sessions", "vacuum", "a.yaml").exit_code == 0
    left = b"".join(path.read_bytes() for path in project.path.glob("s.db*"))
    assert b"the-word-that-is-secret" not in left
    assert len(left) < size


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))


def test_a_backup_that_the_disk_has_no_room_for_leaves_nothing(file: Place, project: Any) -> None:
    file.say("one", "x" * 300_000)
    before = project.files()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "newel.cli.main",
            "sessions",
            "backup",
            "a.yaml",
            "b.db",
            "--sessions",
            "sqlite:///s.db",
        ],
        cwd=project.path,
        text=True,
        capture_output=True,
        check=False,
        preexec_fn=_limited,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"the backup {project.path}/b.db cannot be written: " in done.stderr
    assert {one for one in project.files() - before if not one.startswith("s.db-")} == set()


def test_a_server_is_backed_up_with_its_own_tool(project: Any, postgres: Callable[[], str]) -> None:
    url = postgres().replace("postgresql:", "postgresql+asyncpg:")
    place = Place(project, url, lambda: DatabaseSessionService(url))
    assert "is a database of a server, which is backed up with the server's own tool (pg_dump" in place.refused(
        "sessions", "backup", "a.yaml", "b.db"
    )


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("fork", "a.yaml", "abcdef"), "2 sessions begin with 'abcdef': "),
        (("fork", "a.yaml", "zzz"), "the app 'a' has no session 'zzz'"),
        (("fork", "a.yaml", "abcdef-1", "--events", "-1"), "Invalid value for '--events': -1 is not in the range"),
        (("fork", "a.yaml", "abcdef-1", "--as", ""), "--as '' is empty or has spaces around it"),
        (("rewind", "a.yaml", "zzz"), "the app 'a' has no session 'zzz'"),
        (("rewind", "a.yaml", "abcdef-1", "--turns", "0"), "Invalid value for '--turns': 0 is not in the range"),
        (("rewind", "a.yaml", "abcdef-1", "--turns", "2"), "the session abcdef-1 has 1 turns that count"),
        (("rewind", "a.yaml", "abcdef-1", "--turns", "1", "--before", "x"), "give either --turns or --before"),
        (("rewind", "a.yaml", "abcdef-1", "--before", ""), "the session abcdef-1: no invocation that counts begins"),
        (("compact", "a.yaml", "abcdef"), "2 sessions begin with 'abcdef': "),
        (("compact", "a.yaml", "abcdef-1", "--keep", "-1"), "Invalid value for '--keep': -1 is not in the range"),
        (("delete", "a.yaml"), "name the sessions to delete, or say --older"),
        (("delete", "a.yaml", "abcdef-1", "--older-than", "1d"), "name the sessions to delete, or say --older"),
        (("delete", "a.yaml", "--older-than", "-3d"), "Invalid value for '--older-than': '-3d' is not an age: write a"),
        (("delete", "a.yaml", "--older-than", "0d"), "Invalid value for '--older-than': '0d' is not an age"),
        (
            ("delete", "a.yaml", "--older-than", "3 months"),
            "Invalid value for '--older-than': '3 months' is not an age",
        ),
        (("delete", "a.yaml", "abcdef"), "2 sessions begin with 'abcdef': "),
        (("backup", "a.yaml", "a.yaml"), "/a.yaml exists already: name another file for the backup"),
        (("backup", "a.yaml", "no/such/b.db"), "/no/such/b.db cannot be written: No such file or directory"),
        (("backup", "a.yaml", "a.yaml/b.db"), "/a.yaml/b.db cannot be written: Not a directory"),
        (("backup", "a.yaml", "."), "Invalid value for 'FILE': File '.' is a directory."),
        (("import",), "Missing argument 'FILES...'"),
        (("import", "none.json"), "none.json cannot be read: No such file or directory"),
        (("import", "a.yaml"), "a.yaml: it is not JSON: expected ident at line 1"),
    ],
)
def test_what_is_wrong(file: Place, command: tuple[str, ...], message: str) -> None:
    file.say("abcdef-1", "hi")
    file.say("abcdef-2", "hi")
    assert message in file.refused("sessions", *command)
    assert file.ids() == ["abcdef-1", "abcdef-2"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("vacuum", "a.yaml"), "InMemorySessionService has no upkeep: it is for SQLite, PostgreSQL"),
        (("backup", "a.yaml", "b.db"), "InMemorySessionService has no upkeep: it is for SQLite, PostgreSQL"),
        (("import", "x.json"), "InMemorySessionService cannot take in sessions: name an SQLite file"),
    ],
)
def test_a_store_that_cannot_says_so(file: Place, project: Any, command: tuple[str, ...], message: str) -> None:
    file.say("one", "hi")
    project.write("x.json", json.dumps(file.exported("one")))
    assert project.refused("sessions", *command, "--sessions", "memory:").startswith(message)


def test_a_folder_that_cannot_be_written(file: Place, project: Any, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        target = Path("/proc/b.db")  # where not even root can
    else:
        (tmp_path / "locked").mkdir(mode=0o500)
        target = tmp_path / "locked" / "b.db"
    file.say("one", "hi")
    assert f"the backup {target} cannot be written: " in file.refused("sessions", "backup", "a.yaml", str(target))
