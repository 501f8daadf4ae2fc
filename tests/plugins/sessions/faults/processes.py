"""Processes that append to one session at once: what each was told is stored is there once, in one order.

    processes.py STORE COUNT SECONDS EVERY PATIENCE FOLDER

STORE is a URI. EVERY so many seconds one of the COUNT processes is killed, and another one begins; 0: none is.
Prints a line of JSON: how many events there are, how many were acknowledged, how often the store was unavailable, the
longest wait for it in seconds, and what was wrong.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from children import Child
from stores import open_store

from newel.sessions.errors import StoreUnavailableError
from newel.sessions.verification import problems_of
from newel_kernel import AlreadyExistsError, Event, Session, StaleSessionError

WHERE: dict[str, Any] = {"app_name": "app", "user_id": "u", "session_id": "s"}
#: Within how many seconds each process has stored something.
START = 120


class Writer:
    """Appends to the session until there is a file `stop`, in a process of its own."""

    def __init__(self, name: str, store: str, patience: float, folder: Path) -> None:
        self.name, self._store, self._patience = name, store, patience
        self._told, self._stop = folder / name, folder / "stop"
        self.child = Child(self._work)

    async def _work(self, _: object) -> None:
        with self._told.open("w", encoding="utf-8", buffering=1) as told:
            async with open_store(self._store, self._patience) as store:
                number, view = 0, None
                while not self._stop.exists():
                    event = Event(
                        id=f"{self.name}-{number}",
                        author="agent",
                        message=self.name,
                        state={"latest": f"{self.name}-{number}", self.name: number},
                    )
                    view = await self._append(store, view, event, told)
                    number += 1
            print("over", file=told)

    async def _append(self, store: Any, view: Session | None, event: Event, told: Any) -> Session | None:
        """Append the event, however often it takes; note that it is stored, and how long the store was away."""
        while True:
            asked = time.monotonic()
            try:
                view = view or await store.open(**WHERE)
                with suppress(AlreadyExistsError):  # it was stored, and the answer was lost
                    await store.append_event(view, event)
            except StaleSessionError:
                continue
            except StoreUnavailableError:
                print("away", time.monotonic() - asked, file=told)
                if self._stop.exists():
                    return view
                continue
            print("stored", event.id, file=told)
            return view

    def notes(self, what: str) -> list[str]:
        """What the process has noted."""
        lines = self._told.read_text(encoding="utf-8").splitlines() if self._told.exists() else []
        return [line.partition(" ")[2] for line in lines if line.startswith(what)]


def work(store: str, count: int, seconds: float, every: float, patience: float, folder: Path) -> list[Writer]:
    """Let the processes work for some seconds from when each has stored something; all that there were."""
    writers = [Writer(f"w{number}", store, patience, folder) for number in range(count)]
    limit = time.monotonic() + START
    while not all(writer.notes("stored") for writer in writers) and time.monotonic() < limit:
        time.sleep(0.02)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(every or left, left))
        if every and time.monotonic() < end:
            os.kill(writers[-count].child.pid, signal.SIGKILL)
            writers.append(Writer(f"w{len(writers)}", store, patience, folder))
    (folder / "stop").touch()
    return writers


async def judged(store: str, writers: list[Writer], every: float) -> dict[str, Any]:
    """What the session holds, and what is wrong about it."""
    wrong = [f"{writer.name}: {ended}" for writer in writers if (ended := writer.child.end()[1]) and ended != "SIGKILL"]
    if not every:
        wrong += [f"{writer.name} has not come to its end" for writer in writers if not writer.notes("over")]
    async with open_store(store) as reader:
        session = await reader.get_session(**WHERE)
        wrong += [str(problem) for problem in await problems_of(reader, session)]
    ids = [event.id for event in session.events]
    if len(set(ids)) != len(ids):
        wrong.append(f"{len(ids) - len(set(ids))} events are there twice")
    for writer in writers:
        own, stored = [one for one in ids if one.startswith(f"{writer.name}-")], writer.notes("stored")
        if own[: len(stored)] != stored or len(own) > len(stored) + 1:
            wrong.append(
                f"{writer.name} was told that {len(stored)} are stored, and {len(own)} are, or in another order"
            )
        if own and session.state[writer.name] != len(own) - 1:
            wrong.append(f"the state is not that of the last event of {writer.name}")
    if session.state["latest"] != ids[-1]:
        wrong.append("the state is not that of the last event")
    waits = [float(one) for writer in writers for one in writer.notes("away")]
    return {
        "events": len(ids),
        "acknowledged": sum(len(writer.notes("stored")) for writer in writers),
        "away": len(waits),
        "longest": max(waits, default=0.0),
        "wrong": wrong,
    }


async def make(store: str) -> None:
    """Make the session."""
    async with open_store(store) as service:
        await service.create_session(**WHERE)


def main() -> None:
    store, count, seconds, every, patience, folder = sys.argv[1:]
    asyncio.run(make(store))
    gc.freeze()  # what is copied on write stays shared
    writers = work(store, int(count), float(seconds), float(every), float(patience), Path(folder))
    print(json.dumps(asyncio.run(judged(store, writers, float(every)))))


if __name__ == "__main__":
    main()
