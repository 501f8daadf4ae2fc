"""Many writers in many processes while something stands in their way: ``python -m tests.plugins.sessions.crowds``.

By default it runs 64 writers in 8 processes, under each trouble and without any, on an SQLite file and on the
PostgreSQL server that runs at 127.0.0.1, and prints how long appends took. `test_crowds.py` runs it with fewer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

#: A process: its writers append until the time is over, and report how long each append took. What the process itself
#: stood still (a stopped process, a loaded machine) is not counted.
PROCESS = """
import asyncio, json, os, sys, time
from newel.sessions import SqliteSessionService, StoreUnavailableError
from newel_kernel import Event, StaleSessionError

kind, where, name, writers, patience, seconds, every, pause = sys.argv[1:]
waits, refused, stored, stood_still = [], 0, 0, 0.0

async def watch():
    global stood_still
    while True:
        begin = time.monotonic()
        await asyncio.sleep(0.02)
        stood_still += max(time.monotonic() - begin - 0.05, 0.0)

async def write(store, session, end):
    global refused, stored
    number = 0
    while time.monotonic() < end:
        number += 1
        begin, before = time.monotonic(), stood_still
        shares = int(every) and number % int(every) == 0
        state = {"n": number, **({f"app:{name}": number, "app:all": number, "user:n": number} if shares else {})}
        try:
            await store.append_event(session, Event(author="user", message="x", state=state))
            stored += 1
        except (StoreUnavailableError, StaleSessionError):  # or the one before was refused and stored all the same
            refused += 1
        if float(pause):
            await asyncio.sleep(float(pause))
        waits.append(time.monotonic() - begin - float(pause) - (stood_still - before))

def opened(patience):
    if kind == "sqlite":
        return SqliteSessionService(where, patience=patience)
    from newel_postgres import PostgresSessionService
    return PostgresSessionService(where, patience=patience)

async def main():
    ids = [dict(app_name="a", user_id=name, session_id=f"{n} of {os.getpid()}") for n in range(int(writers))]
    async with opened(60.0) as patient:
        for one in ids:
            await patient.create_session(**one, state={f"app:{name}": 0, "app:all": 0})
        store = opened(float(patience))
        sessions = [await patient.get_session(**one) for one in ids]
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        watching = asyncio.create_task(watch())
        begin = time.monotonic()
        await asyncio.gather(*(write(store, one, begin + float(seconds)) for one in sessions))
        took = time.monotonic() - begin
        watching.cancel()
        await store.close()
        found = sum([len((await patient.get_session(**one)).events) for one in ids])
    waits.sort()
    print(json.dumps({"longest": waits[-1], "median": waits[len(waits) // 2], "stored": stored, "refused": refused,
                      "found": found, "took": took}), flush=True)

asyncio.run(main())
"""


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Who writes, for how long, and how patiently; each `shares_every`th append also writes shared state."""

    kind: str
    where: str
    processes: int = 8
    writers: int = 64
    patience: float = 4.0
    seconds: float = 14.0
    trouble_seconds: float = 10.0
    shares_every: int = 8
    pause: float = 0.05

    def run(self, trouble: Trouble) -> list[dict[str, Any]]:
        """What each process reports."""
        with self._started() as processes:
            for process in processes:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            time.sleep(0.5)
            with trouble(self, processes):
                time.sleep(self.trouble_seconds if trouble is not nothing else 0.0)
            return [json.loads(process.communicate(timeout=300)[0]) for process in processes]

    @contextmanager
    def _started(self) -> Iterator[list[subprocess.Popen[str]]]:
        """The processes, once all are ready."""
        numbers = (self.writers // self.processes, self.patience, self.seconds, self.shares_every, self.pause)
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", PROCESS, self.kind, self.where, f"u{n}", *map(str, numbers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(self.processes)
        ]
        try:
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            yield processes
        finally:
            for process in processes:
                process.kill()
                process.communicate()


Trouble = Callable[[Crowd, Sequence["subprocess.Popen[str]"]], Any]


@contextmanager
def nothing(crowd: Crowd, processes: Sequence[subprocess.Popen[str]]) -> Iterator[None]:
    """Nothing stands in the way."""
    yield


@contextmanager
def a_foreign_lock(crowd: Crowd, processes: Sequence[subprocess.Popen[str]]) -> Iterator[None]:
    """Another program keeps the file locked, or the whole table of sessions."""
    if crowd.kind == "sqlite":
        with closing(sqlite3.connect(crowd.where, isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
    else:
        with _server_lock(crowd.where, "LOCK TABLE newel_sessions IN SHARE ROW EXCLUSIVE MODE"):
            yield


@contextmanager
def a_locked_row(crowd: Crowd, processes: Sequence[subprocess.Popen[str]]) -> Iterator[None]:
    """Another program keeps the rows of all sessions of the first process locked, and one that all share."""
    with (
        _server_lock(crowd.where, "SELECT number FROM newel_sessions WHERE user_id = 'u0' FOR UPDATE"),
        _server_lock(crowd.where, "SELECT value FROM newel_app_state WHERE \"key\" = 'u1' FOR UPDATE"),
    ):
        yield


@contextmanager
def a_stopped_peer(crowd: Crowd, processes: Sequence[subprocess.Popen[str]]) -> Iterator[None]:
    """A process stands still, perhaps within a transaction."""
    os.kill(processes[0].pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(processes[0].pid, signal.SIGCONT)


@contextmanager
def all_at_once(crowd: Crowd, processes: Sequence[subprocess.Popen[str]]) -> Iterator[None]:
    """Each trouble that the store knows, one after the other, until the end."""
    with ExitStack() as stack:
        for trouble in TROUBLES[crowd.kind][1:-1]:
            stack.enter_context(trouble(crowd, processes))
            time.sleep(crowd.trouble_seconds / 8)
        yield


TROUBLES: dict[str, list[Trouble]] = {
    "sqlite": [nothing, a_foreign_lock, a_stopped_peer, all_at_once],
    "postgres": [nothing, a_locked_row, a_foreign_lock, a_stopped_peer, all_at_once],
}


@contextmanager
def _server_lock(url: str, statement: str) -> Iterator[None]:
    """A transaction that stands still after the statement."""
    is_locked, may_end = threading.Event(), threading.Event()

    async def hold() -> None:
        import asyncpg

        connection = await asyncpg.connect(url)
        async with connection.transaction():
            await connection.execute(statement)
            is_locked.set()
            await asyncio.to_thread(may_end.wait)
        await connection.close()

    thread = threading.Thread(target=lambda: asyncio.run(hold()), daemon=True)
    thread.start()
    try:
        assert is_locked.wait(60)
        yield
    finally:
        may_end.set()
        thread.join()


def is_whole(report: dict[str, Any]) -> bool:
    """Whether a process finds what it has stored; a refused append may be stored, since only its answer was late."""
    return bool(report["stored"] <= report["found"] <= report["stored"] + report["refused"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=list(TROUBLES), action="append")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--writers", type=int, default=64, help="of all processes together")
    parser.add_argument("--url", default="postgresql://postgres@127.0.0.1:5432/crowds", help="an empty database")
    parser.add_argument("--shares-every", type=int, default=8, help="0: no append writes shared state")
    parser.add_argument("--trouble", action="append", help="only these")
    options = parser.parse_args()
    failed = 0
    for kind in options.store or TROUBLES:
        for trouble in TROUBLES[kind]:
            if not options.trouble or trouble.__name__ in options.trouble:
                failed += _reported(kind, trouble, options)
    return 1 if failed else 0


def _reported(kind: str, trouble: Trouble, options: argparse.Namespace) -> bool:
    """Whether an append of the crowd has waited too long, or an event is lost; prints the figures."""
    with tempfile.TemporaryDirectory() as folder:
        where = f"{folder}/s.db" if kind == "sqlite" else options.url
        crowd = Crowd(
            kind=kind,
            where=where,
            processes=options.processes,
            writers=options.writers,
            shares_every=options.shares_every,
            pause=0.0 if trouble is nothing else 0.05,
        )
        reports = crowd.run(trouble)
    longest = max(one["longest"] for one in reports)
    lost = sum(not is_whole(one) for one in reports)
    median = sorted(one["median"] for one in reports)[len(reports) // 2]
    rate = sum(one["stored"] / one["took"] for one in reports)
    print(
        f"{kind}, {trouble.__name__}: longest {longest:.2f} s (patience {crowd.patience:g} s), median "
        f"{median * 1000:.1f} ms, {rate:.0f} appends a second, {sum(one['refused'] for one in reports)} refused, "
        f"{lost} processes miss events",
        flush=True,
    )
    return lost > 0 or longest > crowd.patience + 2


if __name__ == "__main__":
    sys.exit(main())
