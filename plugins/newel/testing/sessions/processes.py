"""Checks with processes: one that is killed between a write and its answer, and several that write at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from newel.sessions.contract import SessionStore, SharedSessionStore
from newel.testing.processes import Kills, StartingLine, forked
from newel.testing.sessions.place import MakeStore, Place, refused, same, text_event, texts
from newel_kernel import AlreadyExistsError, Session, StaleSessionError

#: At how many places of an append a process is killed at most.
_KILLS = 40
_PROCESSES, _EVENTS = 3, 6


async def _append_to_the_end(store: SessionStore, session: Session, text: str, name: str) -> None:
    event = text_event(text, id=name, state=dict.fromkeys(("n", "user:n", "app:n"), text))
    while True:
        try:
            await store.append_event(session, event)
        except StaleSessionError:
            continue
        return


async def _opened(store: SessionStore, place: Place) -> Session:
    session = await store.open(**place.at())
    assert session is not None, "the session is gone"
    return session


def a_kill_leaves_a_whole_append(make: MakeStore, app: str) -> None:
    """The event with its state, or neither; what was acknowledged is there, and trying again stores it once."""
    asyncio.run(_create(make, app))
    for at in range(_KILLS):
        ended, acknowledged = forked(partial(_appending, make, app, at)).result()
        asyncio.run(_look_after(make, app, at, bool(acknowledged)))
        if ended:
            return


async def _create(make: MakeStore, app: str) -> None:
    place = Place(make, app)
    try:
        store = place.service()
        for name in ("s", "leased"):
            await store.create_session(**place.at(name))
    finally:
        await place.close()


async def _appending(make: MakeStore, app: str, at: int, report: Callable[[str], None]) -> None:
    """In its own process: append an event, killed at the `at`-th place."""
    place = Place(make, app)
    store = place.service()
    session = await _opened(store, place)
    await Kills(at).during(_append_to_the_end(store, session, f"{at}", f"e{at}"))
    report("acknowledged")
    await place.close()


async def _look_after(make: MakeStore, app: str, at: int, acknowledged: bool) -> None:
    place = Place(make, app)
    try:
        store = place.service()
        session = await _opened(store, place)
        there = texts(session)
        before = [f"{number}" for number in range(at)]
        assert there[:at] == before, f"after a kill: {there!r:.200} instead of {before!r:.200}"
        stored = there[at:] == [f"{at}"]
        assert stored or not acknowledged, "an acknowledged event is lost after a kill"
        last = there[-1:] and dict.fromkeys(("n", "user:n", "app:n"), there[-1])
        assert session.state == (last or {}), f"a kill left the events {there!r:.100} with the state {session.state!r}"
        again = _append_to_the_end(store, session, f"{at}", f"e{at}")
        if stored:
            await refused(again, AlreadyExistsError)
        else:
            await again
        same(texts(await store.get_session(**place.at())), [*before, f"{at}"])
    finally:
        await place.close()


def processes_that_append_at_once_agree(make: MakeStore, app: str) -> None:
    """Each event of each process is stored once, in its process's order, and one of them has the lease."""
    asyncio.run(_create(make, app))
    line = StartingLine()
    children = [forked(partial(_working, make, app, n, line)) for n in range(_PROCESSES)]
    line.go()
    lines = [line for child in children for line in child.result()[1]]
    same(sorted(line for line in lines if line != "claimed"), sorted(f"{n}" for n in range(_PROCESSES)))
    same(lines.count("claimed"), 1)
    asyncio.run(_look_after_all(make, app))


async def _working(make: MakeStore, app: str, number: int, line: StartingLine, report: Callable[[str], None]) -> None:
    """In its own process: claim the session, then append events."""
    place = Place(make, app)
    store = place.service()
    await store.create_session(**place.at(f"of{number}"), state={f"app:{number}": 1})
    session = await _opened(store, place)
    assert isinstance(store, SharedSessionStore)
    line.wait()
    if await store.claim(**place.at("leased"), owner=f"{number}", ttl=60) is not None:
        report("claimed")
    for step in range(_EVENTS):
        await _append_to_the_end(store, session, f"{number}.{step}", f"e{number}.{step}")
    report(f"{number}")
    await place.close()


async def _look_after_all(make: MakeStore, app: str) -> None:
    place = Place(make, app)
    try:
        session = await _opened(place.service(), place)
        got = texts(session)
        expected = [f"{number}.{step}" for number in range(_PROCESSES) for step in range(_EVENTS)]
        same((sorted(map(str, got)), session.version), (expected, len(expected)))
        for number in range(_PROCESSES):
            mine = [text for text in got if str(text).startswith(f"{number}.")]
            same(mine, [f"{number}.{step}" for step in range(_EVENTS)])
        state = {f"app:{number}": 1 for number in range(_PROCESSES)}
        same(session.state, {**state, **dict.fromkeys(("n", "user:n", "app:n"), got[-1])})
    finally:
        await place.close()


DURABLE_CHECKS = {a_kill_leaves_a_whole_append.__name__: a_kill_leaves_a_whole_append}
PROCESS_CHECKS = {processes_that_append_at_once_agree.__name__: processes_that_append_at_once_agree}
