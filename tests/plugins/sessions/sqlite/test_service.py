"""What only a store on disk has to promise: durability, other processes, the shape of what is stored, bad files."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from newel.sessions import SqliteSessionService
from newel.sessions.sqlite import writer
from newel.sessions.sqlite.database import locate
from newel.sessions.stored import clockwork
from newel.sessions.stored.schema import MIGRATIONS
from newel.sessions.stored.steps import Batch
from newel_kernel import (
    AlreadyExistsError,
    ConfigurationError,
    Event,
    EventActions,
    FencedError,
    GetSessionConfig,
    Session,
    SessionError,
    SessionNotFoundError,
    StaleSessionError,
)
from newel_types import Content, FunctionResponse, Part

WHERE: dict[str, Any] = {"app_name": "app", "user_id": "u"}
AT: dict[str, Any] = {**WHERE, "session_id": "s"}


def said(text: str, **fields: Any) -> Event:
    return Event(author="user", content=Content(role="user", parts=[Part(text=text)]), **fields)


def texts(session: Session | None) -> list[str]:
    assert session is not None
    return [e.content.parts[0].text for e in session.events if e.content]  # type: ignore[index,misc]


def run(path: Path, scenario: Callable[[SqliteSessionService], Awaitable[None]]) -> None:
    async def go() -> None:
        async with SqliteSessionService(path / "s.db") as store:
            await scenario(store)

    asyncio.run(go())


def python(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    prelude = (
        "import asyncio, os, signal, sys\n"
        "from newel.sessions import SqliteSessionService\n"
        "from newel_kernel import Event\n"
        "AT = dict(app_name='app', user_id='u', session_id='s')\n"
        "def said(text, **fields): return Event(author='user', message=text, **fields)\n"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", prelude + script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err == ""
    return out


# --- other processes -------------------------------------------------------------------------------

REMEMBER = """
async def main():
    async with SqliteSessionService(sys.argv[1]) as store:
        session = await store.get_session(**AT)
        print([e.content.parts[0].text for e in session.events], session.state)
        await store.append_event(session, said('second', state={'n': 2, 'user:name': 'Bob'}))
asyncio.run(main())
"""


def test_a_second_process_remembers_the_first_and_the_first_sees_the_second(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT, state={"user:name": "Ada"})
        await store.append_event(session, said("first", state={"n": 1}))
        out = await asyncio.to_thread(lambda: finished(python(REMEMBER, tmp_path / "s.db")))
        assert out.strip() == "['first'] {'n': 1, 'user:name': 'Ada'}"
        view = await store.open(**AT)  # the log is hot here, and one event behind
        assert texts(view) == texts(await store.get_session(**AT)) == ["first", "second"]
        assert view is not None
        assert view.state == {"n": 2, "user:name": "Bob"}
        with pytest.raises(StaleSessionError):
            await store.append_event(session, said("third"))  # this copy has not seen it
        await store.append_event(session, said("third"))
        assert texts(session) == ["first", "second", "third"]

    run(tmp_path, scenario)


def test_an_event_that_is_stored_already_is_told_so_and_not_as_stale(tmp_path: Path) -> None:
    """As where its acknowledgement was lost, and others wrote before and after it."""

    async def scenario(store: SqliteSessionService) -> None:
        await store.create_session(**AT)
        view = await store.open(**AT)
        assert view is not None
        event = said("ours")
        async with SqliteSessionService(tmp_path / "s.db") as other:
            theirs = await other.get_session(**AT)
            assert theirs is not None
            for one in (said("before"), event.model_copy(), said("behind")):
                await other.append_event(theirs, one)
        for _ in range(2):
            with pytest.raises(AlreadyExistsError, match="already has an event with the id"):
                await store.append_event(view, event)
        assert texts(view) == texts(await store.get_session(**AT)) == ["before", "ours", "behind"]

    run(tmp_path, scenario)


def test_an_append_after_another_process_is_stale_once(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        await store.create_session(**AT)
        view = await store.open(**AT)
        assert view is not None
        copied = view.model_copy()
        async with SqliteSessionService(tmp_path / "s.db") as other:  # as another process is
            theirs = await other.get_session(**AT)
            assert theirs is not None
            await other.append_event(theirs, said("theirs", state={"n": 1}))
        event = said("ours", state={"n": 2, "temp:t": 1})
        with pytest.raises(StaleSessionError, match="another process"):
            await store.append_event(view, event)
        assert (texts(view), view.state) == (["theirs"], {"n": 1})
        event.author = "still mine"
        await store.append_event(view, event)
        assert view.state == {"n": 2, "temp:t": 1}
        with pytest.raises(StaleSessionError, match="0 were known"):  # each view that is behind learns it
            await store.append_event(copied, said("last"))
        await store.append_event(copied, said("last"))
        assert texts(copied) == texts(view) == texts(await store.get_session(**AT)) == ["theirs", "ours", "last"]

    run(tmp_path, scenario)


def test_what_this_process_has_just_stored_is_not_taken_for_another_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, looked = threading.Event(), threading.Event()
    grow = Batch.grow

    def late(batch: Batch) -> None:  # the moment in which an event is in the file, and not yet in the log
        stored.set()
        assert looked.wait(60)
        grow(batch)

    async def main(store: SqliteSessionService) -> None:
        await store.create_session(**AT)
        first, second = await store.open(**AT), await store.open(**AT)
        assert first is not None
        assert second is not None
        monkeypatch.setattr(Batch, "grow", late)
        append = asyncio.ensure_future(store.append_event(first, said("one")))
        await asyncio.to_thread(stored.wait, 60)
        assert texts(await store.get_session(**AT)) == ["one"]
        looked.set()
        await append
        await store.append_event(second, said("two"))  # of two views in one process none is stale
        assert texts(await store.get_session(**AT)) == ["one", "two"]

    run(tmp_path, main)


def test_another_process_may_delete_recreate_and_take_over(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        await store.append_event(session, said("old"))
        async with SqliteSessionService(tmp_path / "s.db") as other:
            await other.delete_session(**AT)
            with pytest.raises(SessionNotFoundError):
                await store.append_event(session, said("lost"))
            anew = await other.create_session(**AT)
            await other.append_event(anew, said("new"))
        view = await store.claim(**AT, owner="we", ttl=60)
        assert texts(view) == ["new"]
        with sqlite3.connect(tmp_path / "s.db") as connection:
            connection.execute("UPDATE sessions SET lease = lease + 1")
        connection.close()
        assert view is not None
        with pytest.raises(FencedError):
            await store.append_event(view, said("lost"))
        again = await store.open(**AT)
        assert again is not None
        assert again.lease == 0  # it holds nothing, so that nobody can take anything from it
        await store.append_event(again, said("ours"))
        assert texts(await store.get_session(**AT)) == ["new", "ours"]

    run(tmp_path, scenario)


def test_a_copy_may_know_more_than_the_live_log(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        await store.create_session(**AT)
        async with SqliteSessionService(tmp_path / "s.db") as other:
            theirs = await other.get_session(**AT)
            assert theirs is not None
            await other.append_event(theirs, said("theirs"))
        (listed,) = (await store.list_sessions(**WHERE)).sessions
        await store.append_event(listed, said("ours"))
        await store.append_event(theirs, said("again"))
        assert texts(theirs) == texts(await store.get_session(**AT)) == ["theirs", "ours", "again"]

    run(tmp_path, scenario)


def test_a_live_log_is_not_taken_for_a_session_created_anew(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        await store.append_event(await store.create_session(**AT), said("old"))
        async with SqliteSessionService(tmp_path / "s.db") as other:
            await other.delete_session(**AT)
            await other.append_event(await other.create_session(**AT), said("new"))
        assert texts(await store.open(**AT)) == texts(await store.get_session(**AT)) == ["new"]

    run(tmp_path, scenario)


RACE = """
async def main():
    store = SqliteSessionService(sys.argv[1])
    for i in range(20):
        session = await store.create_session(app_name='app', user_id='u', session_id=f'{sys.argv[2]}-{i}')
        for n in range(5):
            await store.append_event(session, said(f'{n}', state={'app:last': n}))
    # not closed: the end of the process does it, without a warning
asyncio.run(main())
"""


def test_processes_share_a_new_file(tmp_path: Path) -> None:
    processes = [python(RACE, tmp_path / "new" / "s.db", str(i)) for i in range(4)]
    for process in processes:
        finished(process)

    async def look() -> None:
        async with SqliteSessionService(tmp_path / "new" / "s.db") as store:
            listed = (await store.list_sessions(app_name="app")).sessions
            assert len(listed) == 80
            for session in listed:
                assert texts(await store.get_session(**WHERE, session_id=session.id)) == list("01234")

    asyncio.run(look())


# --- durability ------------------------------------------------------------------------------------

VICTIM = """
async def main():
    store = SqliteSessionService(sys.argv[1])
    session = await store.create_session(**AT)
    print('ready', flush=True)
    async def one(i):
        await store.append_event(session, said(f'{i}', state={'n': i}))
        os.write(1, f'{i}\\n'.encode())
    for start in range(0, 100000, 7):
        await asyncio.gather(*(one(i) for i in range(start, start + 7)))
asyncio.run(main())
"""


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.05, 0.2])
def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path, seconds: float) -> None:
    process = python(VICTIM, tmp_path / "s.db")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    out, _ = process.communicate()
    acknowledged = [int(line) for line in out.split("\n")[:-1]]

    async def scenario(store: SqliteSessionService) -> None:
        session = await store.open(**AT)
        assert session is not None
        numbers = [int(text) for text in texts(session)]
        assert numbers == list(range(len(numbers)))
        assert set(acknowledged) <= set(numbers)
        assert session.state == ({"n": numbers[-1]} if numbers else {})
        await store.append_event(session, said("after"))

    run(tmp_path, scenario)
    with sqlite3.connect(tmp_path / "s.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_kill_between_commit_and_return_keeps_the_event(tmp_path: Path) -> None:
    script = """
async def main():
    store = SqliteSessionService(sys.argv[1])
    session = await store.create_session(**AT)
    await store.append_event(session, said('one'))
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    process = python(script, tmp_path / "s.db")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL

    async def scenario(store: SqliteSessionService) -> None:
        assert texts(await store.get_session(**AT)) == ["one"]

    run(tmp_path, scenario)


def test_two_hundred_concurrent_sessions_keep_their_order(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        names = [f"s{i}" for i in range(200)]
        sessions = await asyncio.gather(*(store.create_session(**WHERE, session_id=name) for name in names))
        appends = (store.append_event(session, said(f"{n}")) for n in range(5) for session in sessions)
        await asyncio.gather(*appends)
        for session in sessions:
            assert texts(session) == list("01234")

    async def durable(store: SqliteSessionService) -> None:
        for i in range(200):
            assert texts(await store.open(**WHERE, session_id=f"s{i}")) == list("01234")

    run(tmp_path, scenario)
    run(tmp_path, durable)


def test_one_refused_write_does_not_spoil_its_batch(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        good = await store.create_session(**AT)
        gone = await store.create_session(**WHERE, session_id="gone")
        async with SqliteSessionService(tmp_path / "s.db") as other:
            await other.delete_session(**WHERE, session_id="gone")
        bad = Session(id="\ud800", app_name="app", user_id="u")
        results = await asyncio.gather(
            store.append_event(good, said("one")),
            store.append_event(gone, said("x")),
            store.create_session(**WHERE, session_id="\ud800"),
            store.append_event(bad, said("x")),
            store.append_event(good, said("two")),
            return_exceptions=True,
        )
        kinds = [type(result) for result in results]
        assert kinds[1:4] == [SessionNotFoundError, SessionError, SessionError]
        assert texts(good) == texts(await store.get_session(**AT)) == ["one", "two"]

    run(tmp_path, scenario)


def test_a_service_outlives_event_loops_and_serves_several(tmp_path: Path) -> None:
    store = SqliteSessionService(tmp_path / "s.db")
    session = asyncio.run(store.create_session(**AT))

    async def append(text: str) -> None:
        await store.append_event(session, said(text))

    async def in_threads() -> None:
        await asyncio.gather(*(asyncio.to_thread(asyncio.run, append(f"{i}")) for i in range(8)))

    asyncio.run(append("first"))
    asyncio.run(in_threads())
    assert sorted(texts(session)) == sorted(texts(asyncio.run(store.get_session(**AT)))) == [*"01234567", "first"]
    asyncio.run(store.close())


# --- what is stored --------------------------------------------------------------------------------


def result(value: Any) -> Event:
    part = Part(function_response=FunctionResponse(name="f", response={"r": value}))
    return Event(author="user", content=Content(role="user", parts=[part]))


def state(value: Any) -> Event:
    return Event(author="a", actions=EventActions(state_delta={"k": value}))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


READABLE: list[tuple[Any, Any]] = [
    ((1, 2), [1, 2]),
    ({7}, [7]),
    (b"\x00\xff", "AP8="),
    ({1: "a", None: "b"}, {"1": "a", "None": "b"}),
    (10**400, 10**400),
    (-0.0, -0.0),
    (math.inf, math.inf),
    (date(2024, 2, 3), "2024-02-03"),
    (nested(100), nested(100)),
    ("é\x00😀", "é\x00😀"),
    (Content(role="user", parts=[]), {"role": "user", "parts": []}),
    ("", ""),
    ({}, {}),
]
KINDS = [type(value).__name__ for value, _ in READABLE]
Make = Callable[[Any], Event]


@pytest.mark.parametrize("make", [result, state])
@pytest.mark.parametrize(("value", "wanted"), READABLE, ids=KINDS)
def test_a_value_is_stored_in_its_json_form(tmp_path: Path, make: Make, value: Any, wanted: Any) -> None:
    def of(event: Event) -> Any:
        if event.content is None:
            return event.actions.state_delta["k"]
        return event.content.parts[0].function_response.response["r"]  # type: ignore[index,union-attr]

    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        await store.append_event(session, make(value))
        hot = await store.open(**AT)
        async with SqliteSessionService(tmp_path / "s.db") as other:
            cold = await other.open(**AT)
            assert hot is not None
            assert cold is not None
            assert of(hot.events[0]) == of(cold.events[0]) == wanted
            assert hot.state == cold.state
            if make is state:
                assert hot.state["k"] == of(hot.events[0])

    run(tmp_path, scenario)


def test_not_a_number_is_kept(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT, state={"user:n": math.nan})
        await store.append_event(session, result([math.nan]))
        async with SqliteSessionService(tmp_path / "s.db") as other:
            cold = await other.open(**AT)
            assert cold is not None
            assert math.isnan(cold.state["user:n"])
            assert math.isnan(cold.events[0].get_function_responses()[0].response["r"][0])  # type: ignore[index]

    run(tmp_path, scenario)


LOOP: list[Any] = []
LOOP.append(LOOP)
REFUSED: list[tuple[Any, str]] = [
    ("\ud800", r"\['{}'\] is text with a lone surrogate"),
    ({"\ud800": 1}, r"\['{}'\]\['\\ud800'\] has a key"),
    ([{"deep": (object(),)}], r"\['{}'\]\[0\]\['deep'\]\[0\] is of type object"),
    (10**5000, r"\['{}'\] is an integer of too many digits"),
    ({1: "a", "1": "b"}, r"\['{}'\] has the keys 1 and '1'"),
    (nested(400), r"nested too deeply"),
    (LOOP, r"nested too deeply, or contains itself"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_value_without_a_form_is_refused_with_its_place(tmp_path: Path, value: Any, message: str) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        view = await store.open(**AT)
        assert view is not None
        for make, key, place in (
            (result, "r", r"content\.parts\[0\]\.function_response\.response"),
            (state, "k", r"actions\.state_delta"),
        ):
            event = make(value)
            begins = rf"event {event.id} of '.*' cannot be stored: .*"
            where = "" if message.startswith("nested") else place
            with pytest.raises(SessionError, match=begins + where + ".*" + message.format(key)):
                await store.append_event(view, event)
            event.author = "untouched"
        if "surrogate" not in message and "ud800" not in message:  # half a character of an initial state is mended
            with pytest.raises(SessionError, match=r"the state of session 't' cannot be stored"):
                await store.create_session(**WHERE, session_id="t", state={"app:k": value})
            assert await store.get_session(**WHERE, session_id="t") is None
        assert (view.events, view.state, view.version) == ([], {}, 0)
        await store.append_event(view, said("usable"))
        assert texts(await store.get_session(**AT)) == texts(view) == ["usable"]
        await store.append_event(session, said("too"))

    run(tmp_path, scenario)


def test_an_object_may_live_in_temp_state(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        handle = object()
        event = Event(author="a", actions=EventActions(state_delta={"temp:h": handle, "k": 1}))
        await store.append_event(session, event)
        assert session.state == {"temp:h": handle, "k": 1}
        assert event.actions.state_delta == {"k": 1}

    run(tmp_path, scenario)


def test_a_wrong_field_is_refused(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        with pytest.raises(SessionError, match=r"(?s)cannot be stored.*text"):
            await store.append_event(session, said(5))  # type: ignore[arg-type]
        assert session.events == []

    run(tmp_path, scenario)


def test_an_untouched_event_is_stored_without_its_defaults(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        await store.append_event(session, said("x", timestamp=1.5))
        view = await store.open(**AT)
        assert view is not None
        assert view.events[0].touched_actions is None

    run(tmp_path, scenario)
    with sqlite3.connect(tmp_path / "s.db") as connection:
        (data,) = connection.execute("SELECT data FROM events").fetchone()
    connection.close()
    assert set(json.loads(data)) == {"author", "content", "id", "invocationId", "timestamp"}


def test_a_filtered_cold_session_reads_what_it_needs(tmp_path: Path) -> None:
    async def write(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        for i in range(5):
            await store.append_event(session, said(f"m{i}", timestamp=1000.0 + i))

    async def read(store: SqliteSessionService) -> None:
        config = GetSessionConfig(num_recent_events=3, after_timestamp=1003.0)
        view = await store.open(**AT, config=config)
        assert texts(view) == ["m3", "m4"]
        assert view is not None
        assert view.version == 5
        await store.append_event(view, said("m5"))
        assert texts(view) == ["m3", "m4", "m5"]
        assert len(texts(await store.open(**AT))) == 6

    run(tmp_path, write)
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("UPDATE events SET data = 'x' WHERE sequence = 0")
    connection.close()
    with pytest.raises(SessionError, match="event 0 of session 's' is damaged"):
        run(tmp_path, read)


# --- memory ----------------------------------------------------------------------------------------


def test_few_logs_stay_live_and_a_view_keeps_its_own(tmp_path: Path) -> None:
    async def go() -> None:
        async with SqliteSessionService(tmp_path / "s.db", live_sessions=2) as store:
            logs = []
            for i in range(5):
                session = await store.create_session(**WHERE, session_id=f"s{i}")
                await store.append_event(session, said(f"{i}"))
                view = await store.open(**WHERE, session_id=f"s{i}")
                assert view is not None
                logs.append(weakref.ref(view.events))
                if i == 0:
                    first = view
            del view, session
            gc.collect()
            assert [log() is not None for log in logs] == [True, False, False, True, True]
            other = await store.get_session(**WHERE, session_id="s0")
            assert other is not None
            await store.append_event(other, said("shared"))
            assert texts(first) == ["0", "shared"]
            for i in range(1, 5):
                assert texts(await store.open(**WHERE, session_id=f"s{i}")) == [f"{i}"]

    asyncio.run(go())


def test_the_collector_closes_a_forgotten_service(tmp_path: Path) -> None:
    store = SqliteSessionService(tmp_path / "s.db")
    asyncio.run(store.create_session(**AT))
    closed = store._database.writer
    del store
    gc.collect()
    assert closed._thread is None
    assert not (tmp_path / "s.db-wal").exists()  # the last connection took it in and left


def test_a_closed_service_says_so(tmp_path: Path) -> None:
    async def go() -> None:
        store = SqliteSessionService(tmp_path / "s.db")
        session = await store.create_session(**AT)
        await store.close()
        await store.close()
        for use in (store.append_event(session, said("x")), store.get_session(**AT), store.create_session(**WHERE)):
            with pytest.raises(SessionError, match="closed"):
                await use

    asyncio.run(go())


# --- fork ------------------------------------------------------------------------------------------


def open_files(folder: Path) -> list[str]:
    """The files of `folder` that this process has open, where the system tells."""
    handles = Path("/proc/self/fd")
    links = [os.path.realpath(handle) for handle in handles.iterdir()] if handles.exists() else []
    return [link for link in links if link.startswith(f"{folder}/")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_both_sides_of_a_fork_go_on(tmp_path: Path) -> None:
    store = SqliteSessionService(tmp_path / "s.db")
    session = asyncio.run(store.create_session(**AT))
    asyncio.run(store.append_event(session, said("before")))
    asyncio.run(store.open(**AT))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert open_files(tmp_path) == []  # SQLite's locks do not cross a fork
            asyncio.run(store.append_event(session, said("child")))
            code = 0 if texts(asyncio.run(store.get_session(**AT))) == ["before", "child"] else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(StaleSessionError):
        asyncio.run(store.append_event(session, said("parent")))
    asyncio.run(store.append_event(session, said("parent")))
    assert texts(session) == texts(asyncio.run(store.get_session(**AT))) == ["before", "child", "parent"]
    asyncio.run(store.close())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_amid_appends_loses_none(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        tasks = [asyncio.ensure_future(store.append_event(session, said(f"{i}"))) for i in range(50)]
        await asyncio.sleep(0)
        child = os.fork()
        if child == 0:
            os._exit(0)
        await asyncio.gather(*tasks)
        os.waitpid(child, 0)
        assert texts(session) == texts(await store.get_session(**AT)) == [f"{i}" for i in range(50)]

    run(tmp_path, scenario)


# --- files -----------------------------------------------------------------------------------------


def test_paths_and_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path)
    assert locate("a.db") == locate(Path("a.db")) == locate("sqlite:a.db") == locate("sqlite:///a.db") == f"{here}/a.db"
    assert locate("sqlite+aiosqlite:///a%20b.db") == f"{here}/a b.db"
    assert locate("sqlite:////x/a.db") == locate("/x/a.db") == locate("sqlite:/x/a.db") == "/x/a.db"
    assert locate(":memory:") == locate("sqlite:///:memory:") == locate("sqlite::memory:") == ":memory:"
    for wrong in ("", "sqlite:", "sqlite://", "sqlite:///", "sqlite://host/a.db", "sqlite:///a.db?mode=ro"):
        with pytest.raises(ConfigurationError):
            locate(wrong)


def test_directories_are_made(tmp_path: Path) -> None:
    asyncio.run(SqliteSessionService(db_path=str(tmp_path / "a" / "b" / "s.db")).close())
    assert (tmp_path / "a" / "b" / "s.db").exists()


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE sessions (id TEXT)")
    connection.close()


def newer(path: Path) -> None:
    asyncio.run(SqliteSessionService(path).close())
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()


BAD_FILES: list[tuple[Callable[[Path], Any], str]] = [
    (lambda path: path.write_bytes(b"no database at all, but long enough" * 50), "is not a database.*another path"),
    (lambda path: path.mkdir(), "unable to open"),
    (foreign, r"another program's database \(tables: sessions\)"),
    (newer, f"schema version {len(MIGRATIONS) + 1}, this newel knows {len(MIGRATIONS)}: upgrade"),
]


@pytest.mark.parametrize(("make", "message"), BAD_FILES, ids=["text", "directory", "foreign", "newer"])
def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path, make: Callable[[Path], Any], message: str) -> None:
    path = tmp_path / "s.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(ConfigurationError, match=message):
        SqliteSessionService(path)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.db"]


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigurationError, match=r"file/s\.db' cannot be opened: .*a part of the path is a file"):
        SqliteSessionService(tmp_path / "file" / "s.db")
    for place in ("/proc/sessions/s.db", "/proc/s.db"):
        if Path("/proc/self").exists():
            with pytest.raises(ConfigurationError, match="cannot be opened"):
                SqliteSessionService(place)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "locked"
    place.mkdir()
    place.chmod(0o500)
    with pytest.raises(ConfigurationError, match="writable"):
        SqliteSessionService(place / "s.db")


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    async def write(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        for _ in range(50):
            await store.append_event(session, said("x" * 500))

    run(tmp_path, write)
    data = bytearray((tmp_path / "s.db").read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (tmp_path / "s.db").write_bytes(data)

    async def use(store: SqliteSessionService) -> None:
        with pytest.raises(SessionError, match=r"s\.db' cannot be read: .*(malformed|damaged)"):
            await store.open(**AT)
        with pytest.raises(SessionError, match=r"s\.db' cannot be written: .*(malformed|damaged)"):
            await store.create_session(**AT)

    run(tmp_path, use)


def test_a_full_disk_refuses_and_recovers(tmp_path: Path) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        with store._database.file.writing() as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(SessionError, match=r"cannot be written: .*full; free space"):
            await store.append_event(session, said("x" * 50_000))
        assert (session.events, session.version) == ([], 0)
        small, big = await asyncio.gather(
            store.append_event(session, said("small")),
            store.append_event(session, said("x" * 50_000)),
            return_exceptions=True,
        )
        assert isinstance(small, Event)
        assert isinstance(big, SessionError)
        assert texts(session) == texts(await store.get_session(**AT)) == ["small"]

    run(tmp_path, scenario)


@pytest.mark.parametrize("how", ["unlinked", "replaced", "moved"])
def test_a_file_that_is_not_at_its_path_any_more_takes_nothing(tmp_path: Path, how: str) -> None:
    path = tmp_path / "s.db"

    async def scenario(store: SqliteSessionService) -> None:
        session = await store.create_session(**AT)
        await store.append_event(session, said("kept"))
        if how == "moved":
            path.rename(tmp_path / "old.db")
        else:
            path.unlink()
        if how == "replaced":
            shutil.copy(other, path)
        with pytest.raises(SessionError, match="was deleted, moved or replaced while it was open"):
            await store.append_event(session, said("lost"))
        with pytest.raises(SessionError, match="was deleted, moved or replaced while it was open"):
            await store.open(**AT)
        assert texts(session) == ["kept"]
        assert path.exists() is (how == "replaced")
        if how == "moved":
            (tmp_path / "old.db").rename(path)
            assert texts(await store.get_session(**AT)) == ["kept"]

    other = tmp_path / "other.db"

    async def make_other() -> None:
        async with SqliteSessionService(other) as store:
            await store.create_session(**AT)

    asyncio.run(make_other())
    run(tmp_path, scenario)


_READS = """
from newel_kernel import GetSessionConfig, SessionError
async def main():
    async with SqliteSessionService(sys.argv[1]) as store:  # as root: everything is imported now
        session = await store.create_session(app_name="app", user_id="u", session_id="s", state={"k": 1, "user:n": 2})
        await store.append_event(session, said("first"))
        await store.append_event(session, said("second", state={"k": 1}))
    folder = os.path.dirname(sys.argv[1])
    if sys.argv[2] == "folder":
        os.chmod(folder, 0o555)
    os.chmod(sys.argv[1], 0o444)
    if os.geteuid() == 0:
        os.chmod(folder, 0o755 if sys.argv[2] == "file" else 0o555)
        os.seteuid(65534)
    async with SqliteSessionService(sys.argv[1]) as store:
        session = await store.open(app_name="app", user_id="u", session_id="s")
        listed = await store.list_sessions(app_name="app")
        last = await store.get_session(
            app_name="app", user_id="u", session_id="s", config=GetSessionConfig(num_recent_events=1)
        )
        texts = [e.content.parts[0].text for e in session.events]
        print(texts, sorted(session.state), len(listed.sessions), len(last.events))
        for write in (store.append_event(session, said("third")), store.create_session(app_name="app", user_id="u")):
            try:
                await write
            except SessionError as error:
                print("is read-only: make the file" in str(error), len(session.events))

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no permissions as on POSIX")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_store_that_may_not_be_written_can_be_read(what: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        out = finished(python(_READS, Path(folder) / "s.db", what))
        Path(folder).chmod(0o755)
    assert out.splitlines() == ["['first', 'second'] ['k', 'user:n'] 1 1", "True 2", "True 2"]


def test_the_end_of_a_run_wakes_no_thread_that_has_just_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counted(SimpleQueue[Any]):
        puts = 0

        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            Counted.puts += 1
            super().put(item, block, timeout)

    monkeypatch.setattr(clockwork, "Queue", Counted)
    monkeypatch.setattr(writer, "_MOMENT", 2.0)

    async def scenario(store: SqliteSessionService) -> None:
        await store.create_session(**AT)
        view = await store.open(**AT)
        assert view is not None
        store.hold(view, 60)
        await store.append_event(view, said("a"))
        await asyncio.sleep(0.1)  # the thread waits again
        before = Counted.puts
        store.release_soon(view)
        assert Counted.puts == before
        owners = [("",)]
        with contextlib.closing(sqlite3.connect(tmp_path / "s.db")) as connection:
            while owners != [(None,)]:  # it is committed all the same
                await asyncio.sleep(0.05)
                owners = connection.execute("SELECT owner FROM sessions").fetchall()

    run(tmp_path, scenario)


def test_only_the_first_read_asks_whether_the_file_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(store: SqliteSessionService) -> None:
        await store.create_session(**AT)
        assert await store.open(**AT) is not None
        monkeypatch.setattr(os, "access", lambda *_, **__: pytest.fail("it asks again"))
        assert await store.open(**AT) is not None
        monkeypatch.undo()

    run(tmp_path, scenario)
