"""Kills, stops or cuts off a worker at each point of a run; another worker goes on, and what is left is looked at.

    kills.py SHAPE WAY STORE REPEAT STRIDE FOLDER

SHAPE is one of `shapes.py`. WAY: `kill`; `stop`, where the worker goes on after another one has ended the run; `cut`,
where the worker loses its connections, or finds the file locked. STORE is a URI. REPEAT: what a person says (`yes`,
`no`) who is asked whether a call that may have taken effect is to run again.

The points are before and after each append and each effect, and before each answer of a model; N = 1, 2, 3 … until
there is no N-th one. Prints a line of JSON: the first N at which there was none, and what was wrong.
"""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import sqlite3
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import asyncmy
import asyncpg
from children import Child
from shapes import APPROVED, END, LATER, ONCE, PURE, Client, Worker, asked, calls, lines
from stores import open_store

from newel.sessions import InMemorySessionService
from newel.sessions.errors import StoreUnavailableError
from newel_compose import Composition, compose
from newel_kernel import Event, FencedError, SessionError

#: For how long a session is lent to a worker that gives no sign, in seconds.
LEASE = 0.5
#: For how long a worker waits for its store, in seconds; who has stopped may hold a lock.
PATIENCE = {"kill": 15.0, "stop": 2.0, "cut": 15.0}
#: For how long a file stays locked, in seconds.
LOCKED = 0.3
UNAVAILABLE = StoreUnavailableError.__name__


class Matrix:
    """The runs of one shape, one way and one store."""

    def __init__(self, shape: str, way: str, store: str, repeat: str, folder: str) -> None:
        self.shape, self.way, self.store, self.repeat = shape, way, store, repeat == "yes"
        self.folder = Path(folder)
        self.composition = _composition()
        asyncio.run(self._warm())

    async def _warm(self) -> None:
        """Import what a run needs, before the forks, and see how often a run ends."""
        folder = self.folder / "warm"
        folder.mkdir()
        client, store = Client("app", self.repeat), InMemorySessionService()
        await client.serve(self.shape, Worker("W", folder), store, self.composition)
        self.ends = _ends(await client.events(store))
        assert self.ends

    def work(self, number: int, worker: Worker) -> Child:
        """A process that serves the session."""

        async def body(_: object) -> None:
            async with open_store(self.store, PATIENCE[self.way]) as store:
                await Client(f"app{number}", self.repeat).serve(self.shape, worker, store, self.composition)

        return Child(body)

    def at(self, number: int) -> tuple[bool, list[str]]:
        """Whether there was an N-th point, and what was wrong."""
        folder = self.folder / str(number)
        folder.mkdir()
        sent = signal.SIGKILL if self.way == "kill" else signal.SIGSTOP
        first = self.work(number, Worker("A", folder, number, sent))
        reached = first.paused()
        if self.way == "stop" and reached:
            return True, self._taken_over(number, first, folder)
        if reached:
            self._cut(first)
        ended = first.end()[1]
        wrong = _unusual(ended) if reached else []
        if self.way == "kill":
            reached = ended == "SIGKILL"
        if not reached:
            wrong = [ended] if ended else []
        wrong += self._second(number, folder)
        return reached, wrong + self._judge(number, folder)

    def _second(self, number: int, folder: Path) -> list[str]:
        """Another worker goes on; what was wrong with it."""
        ended = self.work(number, Worker("B", folder)).end()[1]
        return [f"who came after: {ended}"] if ended else []

    def _taken_over(self, number: int, first: Child, folder: Path) -> list[str]:
        """Another worker ends the run of one that has stopped, which then goes on."""
        wrong, begun = self._second(number, folder), lines(folder / "A begun")
        events, effects = self._events(number), lines(folder / "A effects")
        first.go_on()
        if UNAVAILABLE in "".join(wrong):  # the first was stopped amid a transaction, and has not been taken over
            first.end()
            return self._second(number, folder) + self._judge(number, folder)
        wrong += _unusual(first.end()[1])
        late = [one for one in lines(folder / "A effects")[len(effects) :] if one.split()[0] not in PURE]
        if set(late) - set(begun):
            wrong.append(f"who was taken over has begun something that has an effect: {late}")
        if [one.id for one in self._events(number)] != [one.id for one in events]:
            wrong.append("who was taken over has written")
        return wrong + self._judge(number, folder)

    def _cut(self, first: Child) -> None:
        """End the connections of a worker that has stopped, or lock its file, and let it go on."""
        if self.store.startswith("sqlite"):
            file = self.store.removeprefix("sqlite:")
            with closing(sqlite3.connect(file, timeout=LOCKED, isolation_level=None)) as other:
                with suppress(sqlite3.OperationalError):  # it has stopped amid a transaction, and has the lock itself
                    other.execute("BEGIN IMMEDIATE")
                first.go_on()
                time.sleep(LOCKED)
            return
        asyncio.run(_disconnect(self.store))
        first.go_on()

    def _events(self, number: int) -> list[Event]:
        async def read() -> list[Event]:
            async with open_store(self.store, PATIENCE[self.way]) as store:
                return await Client(f"app{number}", self.repeat).events(store)

        return asyncio.run(read())

    def _judge(self, number: int, folder: Path) -> list[str]:
        """What must not be there, when all is over."""
        events = self._events(number)
        ids, wrong = [one.id for one in events], []
        if len(set(ids)) != len(ids):
            wrong.append("an event is there twice")
        for who in "AB":
            acknowledged = lines(folder / f"{who} acknowledged")
            if [one for one in ids if one in set(acknowledged)] != acknowledged:
                wrong.append(f"what {who} was told is stored is lost, or in another order")
        if _ends(events) != self.ends:
            wrong.append(f"it ended {_ends(events)} times instead of {self.ends}")
        results = {result.id for event in events for result in event.get_function_responses()}
        effects, approvals = (
            [one for who in "AB" for one in lines(folder / f"{who} {what}")] for what in ("effects", "approvals")
        )
        for call in calls(events):
            effect = f"{call.name} {call.id}"
            wrong += [] if call.id in results else [f"the call of {call.name} has no result"]
            times, allowed = effects.count(effect), approvals.count(effect) + (call.name not in APPROVED)
            if self.way == "stop":  # who began it is there: a yes to another time is not carried out
                allowed = 1
            if call.name in ONCE and times > allowed:
                wrong.append(f"{call.name} took effect {times} times, and may {allowed} times")
            if not times and call.name not in LATER and not asked(events, call):
                wrong.append(f"{call.name} never took effect, and nobody was asked")
        return wrong


def _unusual(ended: str) -> list[str]:
    """What is wrong about a worker that was cut off or taken over: it may end well, or with an error of the store."""
    usual = not ended or any(f"{one.__name__}: " in ended.splitlines()[-1] for one in (FencedError, SessionError))
    return [] if usual else [f"who was disturbed: {ended}"]


def _ends(events: list[Event]) -> int:
    """How often a run has come to its end."""
    texts = [part.text for event in events for part in (event.content.parts if event.content else None) or ()]
    return (*texts, *(event.output for event in events)).count(END)


def _composition() -> Composition:
    """`standard`, with a lease that does not last."""
    base = compose("standard")
    settings = {**base.distribution.settings, "claims": {"lease_seconds": LEASE}}
    return compose(base.distribution.model_copy(update={"settings": settings}))


async def _disconnect(url: str) -> None:
    """End each connection to a database."""
    at = urlsplit(url)
    host, name = str(at.hostname), at.path[1:]
    if at.scheme == "postgresql":
        postgres = await asyncpg.connect(host=host, user=at.username, database="postgres")
        await postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
        await postgres.close()
        return
    mariadb = await asyncmy.connect(host=host, user=at.username, password="")
    async with mariadb.cursor() as cursor:
        await cursor.execute("SELECT id FROM information_schema.processlist WHERE db = %s", (name,))
        for (number,) in await cursor.fetchall():
            with suppress(asyncmy.errors.Error):  # it has ended by itself
                await cursor.execute(f"KILL {number}")
    await mariadb.ensure_closed()


def main() -> None:
    shape, way, store, repeat, stride, folder = sys.argv[1:]
    matrix = Matrix(shape, way, store, repeat, folder)
    gc.freeze()  # what is copied on write stays shared
    number, wrong = 1 + sum(map(ord, shape + way)) % int(stride), list[str]()
    while True:
        reached, found = matrix.at(number)
        wrong += [f"{way} at {number}: {one}" for one in found]
        if not reached:
            break
        number += int(stride)
    print(json.dumps({"points": number - 1, "wrong": wrong}))


if __name__ == "__main__":
    main()
