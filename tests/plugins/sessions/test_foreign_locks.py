"""Each way in which another program may lock an SQLite file, and each operation of a store under it."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from newel.sessions import SqliteSessionService, StoreUnavailableError
from newel_kernel import Event

WHERE: dict[str, Any] = {"app_name": "till", "user_id": "u"}
#: One after the other, seven operations would take fourteen seconds.
PATIENCE, ALLOWANCE = 2.0, 8.0
#: A program that takes the lock and says so.
HOLDER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
for statement in sys.argv[2].split(";"):
    connection.execute(statement).fetchall()
print("locked", flush=True)
time.sleep(60)
"""
#: What it does, by name.
LOCKS = {
    "immediate": "BEGIN IMMEDIATE",
    "exclusive": "BEGIN EXCLUSIVE",
    "unfinished write": "BEGIN IMMEDIATE;UPDATE sessions SET version = version",
    "unfinished table": "BEGIN IMMEDIATE;CREATE TABLE another_program_s (x)",
    "upgraded read": "BEGIN;SELECT * FROM sqlite_master;UPDATE sessions SET version = version",
}


@contextmanager
def held(path: Path, statements: str, stops: bool = False) -> Iterator[None]:
    command = [sys.executable, "-c", HOLDER, str(path), statements]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "locked\n"
            if stops:
                os.kill(holder.pid, signal.SIGSTOP)
            yield
        finally:
            holder.kill()


Operation = Callable[[SqliteSessionService, Any], Awaitable[object]]
OPERATIONS: dict[str, Operation] = {
    "append": lambda store, view: store.append_event(view, said()),
    "append with state": lambda store, view: store.append_event(view, said(state={"a": 1, "app:b": 2, "user:c": 3})),
    "note": lambda store, view: store.append_out_of_band(**WHERE, session_id="s", event=said()),
    "create": lambda store, view: store.create_session(**WHERE, session_id="new", state={"app:a": 1}),
    "fork": lambda store, view: store.fork(**WHERE, session_id="s", new_session_id="copy"),
    "delete": lambda store, view: store.delete_session(**WHERE, session_id="other"),
    "claim": lambda store, view: store.claim(**WHERE, session_id="s", owner="me", ttl=5),
}


def said(**more: Any) -> Event:
    return Event(author="user", message="x", **more)


@pytest.mark.parametrize("lock", LOCKS)
def test_each_operation_waits_its_patience_under_each_lock(lock: str, tmp_path: Path) -> None:
    """All at once: none waits for another one's end. Once the lock is gone, each can be made."""
    statements = LOCKS[lock]

    async def timed(operation: Operation, store: SqliteSessionService, view: Any) -> float:
        begin = time.monotonic()
        with pytest.raises(StoreUnavailableError) as caught:
            await operation(store, view)
        assert caught.value.retry_after is not None
        return time.monotonic() - begin

    async def main() -> None:
        path = tmp_path / "s.db"
        async with SqliteSessionService(path, patience=PATIENCE) as store:
            for name in ("s", "other"):
                await store.create_session(**WHERE, session_id=name)
            view = await store.open(**WHERE, session_id="s")
            with held(path, statements, stops=lock == "unfinished write"):
                outcomes = await asyncio.gather(*(timed(one, store, view) for one in OPERATIONS.values()))
            for name, seconds in zip(OPERATIONS, outcomes, strict=True):
                assert seconds < PATIENCE + ALLOWANCE, name
            for operation in OPERATIONS.values():
                await operation(store, view)
        with closing(sqlite3.connect(path)) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert file.execute("SELECT COUNT(*) FROM events").fetchone() == (6,)  # a fork has three of them again

    asyncio.run(main())


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_cancelled_operation_under_a_lock_ends_at_once(lock: str, name: str, tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.db"
        async with SqliteSessionService(path, patience=30.0) as store:
            await store.create_session(**WHERE, session_id="s")
            view = await store.open(**WHERE, session_id="s")
            with held(path, LOCKS[lock]):
                begin = time.monotonic()
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(OPERATIONS[name](store, view), 0.1)
                assert time.monotonic() - begin < 15
            await store.append_event(view, said())
            assert len((await store.get_session(**WHERE, session_id="s")).events) == 1

    asyncio.run(main())
