"""Whatever writes the state of an app and a user at the same time: none waits for another one in a ring."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.sessions.conftest import maker

from newel.sessions.stored.imports import ImportedEvent, ImportEvents, ImportSharedState
from newel.sessions.stored.rows import Key, StateChange
from newel.sessions.stored.steps import Query, Trouble
from newel_kernel import Event, Json

WHERE: dict[str, Any] = {"app_name": "till", "user_id": "u"}
#: InnoDB locks the gaps between keys as well, so that new and removed ones can collide there: they are tried again.
SERVERS = ["postgres", "database-postgres", "database-mariadb"]
KEYS = [f"{scope}:{name}" for scope in ("app", "user") for name in "abc"]
WRITERS, ROUNDS = 8, 5
Write = Callable[[Any, Any, Json], Awaitable[object]]


def said(state: Json | None = None) -> Event:
    return Event(author="user", message="x", state=state or {})


def kept(delta: Json) -> Json:
    return {key: value for key, value in delta.items() if value is not None}


def create(store: Any, session: Any, delta: Json) -> Awaitable[object]:
    return store.create_session(app_name="till", user_id=session.user_id, state=kept(delta))  # type: ignore[no-any-return]


def append(store: Any, session: Any, delta: Json) -> Awaitable[object]:
    return store.append_event(session, said({**delta, "own": 1}))  # type: ignore[no-any-return]


def note(store: Any, session: Any, delta: Json) -> Awaitable[object]:
    where = {"app_name": "till", "user_id": session.user_id, "session_id": session.id}
    return store.append_out_of_band(**where, event=said(delta))  # type: ignore[no-any-return]


def import_state(store: Any, session: Any, delta: Json) -> Awaitable[object]:
    change = StateChange.initial(kept(delta), "imported")
    return store.import_shared_state(ImportSharedState(Key("till", session.user_id, "x"), change))  # type: ignore[no-any-return]


def import_session(store: Any, session: Any, delta: Json) -> Awaitable[object]:
    event, change = said(), StateChange.initial(kept(delta), "imported")
    key = Key("till", session.user_id, f"imported {event.id}")
    events = [ImportedEvent(event.timestamp, event.model_dump_json().encode())]
    return store.import_events(ImportEvents(key, event.timestamp, 0, events, change))  # type: ignore[no-any-return]


#: What writes shared state, alone and together; whether deltas also remove keys.
MIXTURES: dict[str, tuple[list[Write], bool]] = {
    "appends": ([append], False),
    "appends that remove": ([append], True),
    "appends and creations": ([append, create], False),
    "notes and creations": ([note, create], True),
    "imports and appends": ([import_state, import_session, append], True),
    "all": ([append, create, note, import_state, import_session], True),
}


def deadlocks(store: Any) -> list[Trouble]:
    """The collisions of the store that were rings, and not a long wait."""
    found: list[Trouble] = []
    attempted = store._database._within

    async def watched(end: Any, work: Any) -> Any:
        async def noted(connection: Any) -> Any:
            try:
                return await work(connection)
            except Trouble as trouble:
                if "deadlock" in str(trouble).lower():
                    found.append(trouble)
                raise

        return await attempted(end, noted)

    store._database._within = watched
    return found


@pytest.mark.parametrize(
    ("kind", "mixture"),
    [*((kind, mixture) for kind in SERVERS[:2] for mixture in MIXTURES), ("database-mariadb", "appends")],
)
def test_writers_of_shared_state_never_wait_in_a_ring(request: pytest.FixtureRequest, kind: str, mixture: str) -> None:
    writes, removes = MIXTURES[mixture]
    make = maker(kind, request, Path())

    async def write(store: Any, seed: int) -> None:
        choose = random.Random(seed)
        session = await store.create_session(app_name="till", user_id=f"u{seed % 3}")
        for _ in range(ROUNDS):
            names = choose.sample(KEYS, choose.randint(1, 5))
            delta = {name: None if removes and choose.random() < 0.3 else seed for name in names}
            await choose.choice(writes)(store, session, delta)

    async def main() -> list[Trouble]:
        async with make() as one, make() as two:  # type: ignore[attr-defined]
            await one.create_session(**WHERE)
            found = [deadlocks(store) for store in (one, two)]
            await asyncio.gather(*(write(store, seed) for seed in range(WRITERS) for store in (one, two)))
            return [trouble for each in found for trouble in each]

    assert asyncio.run(main()) == []


@pytest.mark.parametrize("kind", ["postgres", "database-postgres", "database-mariadb"])
def test_a_writer_that_waits_for_shared_state_has_its_session_not_locked(
    request: pytest.FixtureRequest, kind: str
) -> None:
    """Its lease could not be renewed meanwhile, nor could anybody leave a note."""
    make = maker(kind, request, Path())

    async def main() -> None:
        async with make() as store:  # type: ignore[attr-defined]
            session = await store.create_session(**WHERE, session_id="s", state={"app:a": 1})
            pool = make()._database.make_pool()  # type: ignore[attr-defined]
            async with pool.connection() as peer, peer.transaction():
                await peer.run(Query("UPDATE newel_app_state SET value = value"))
                waiting = asyncio.create_task(store.append_event(session, said({"app:a": 2, "own": 3})))
                await asyncio.sleep(0.3)
                names = ("till", "u", "s") if kind != "database-mariadb" else (b"till", b"u", b"s")
                assert (await peer.run(Query(store._database._statements.free_row, names))).rows
            await waiting
            await pool.close()
            copy = await store.get_session(**WHERE, session_id="s")
            assert (copy.state["app:a"], copy.state["own"], len(copy.events)) == (2, 3, 1)

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["postgres", "database-postgres", "database-mariadb"])
def test_an_append_that_was_made_before_changes_no_shared_state_again(
    request: pytest.FixtureRequest, kind: str
) -> None:
    """The answer to its first attempt was lost; others have written since."""
    make = maker(kind, request, Path())

    async def main() -> None:
        async with make() as store, make() as other:  # type: ignore[attr-defined]
            session = await store.create_session(**WHERE, session_id="s", state={"app:a": 0})
            alone, lost = store._database._alone, []

            async def loses_one(write: Any, connection: Any) -> Any:
                result = await alone(write, connection)
                if not lost:
                    lost.append(write)
                    another = await other.create_session(**WHERE)
                    await other.append_event(another, said({"app:a": 2}))
                    raise Trouble("the answer is lost")
                return result

            store._database._alone = loses_one
            await store.append_event(session, said({"app:a": 1, "own": 1}))
            assert lost
            copy = await store.get_session(**WHERE, session_id="s")
            assert (copy.state["app:a"], copy.state["own"], len(copy.events)) == (2, 1, 1)

    asyncio.run(main())


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("kind", SERVERS)
def test_a_cancelled_write_that_waits_for_another_attempt_ends_at_once(
    request: pytest.FixtureRequest, kind: str, shares: bool
) -> None:
    make = maker(kind, request, Path())

    async def main() -> None:
        async with make() as store:  # type: ignore[attr-defined]
            session = await store.create_session(**WHERE, session_id="s")
            attempts: list[str] = []

            async def fails(write: Any, connection: Any) -> Any:
                attempts.append("one")
                raise Trouble("not now")

            store._database._alone = fails
            waiting = asyncio.create_task(store.append_event(session, said({"app:a": 1} if shares else {})))
            while not attempts:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            waiting.cancel()
            (ended, _), count = await asyncio.wait([waiting], timeout=5), len(attempts)
            assert waiting in ended
            assert waiting.cancelled()
            await asyncio.sleep(0.6)
            assert len(attempts) <= count + 1  # one may have been under way
            del store._database._alone
            await store.append_event(session, said())

    asyncio.run(main())
