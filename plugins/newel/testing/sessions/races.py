"""Checks of races between a check and its write: many tasks of one service, and of two."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence

from newel.sessions.contract import SessionStore, SharedSessionStore
from newel.testing.sessions.place import Place, refused, reread, same, text_event, texts, wrote
from newel_kernel import AlreadyExistsError, Event, FencedError, Session, SessionNotFoundError, StaleSessionError

_TASKS = 8


async def _outcomes(calls: Iterable[Awaitable[object]], *losses: type[Exception]) -> list[object]:
    """What the calls that succeeded gave, made at once; the others have to end in one of `losses`."""
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    for one in outcomes:
        if isinstance(one, BaseException) and not isinstance(one, losses):
            raise one
    return [one for one in outcomes if not isinstance(one, BaseException)]


async def _append(store: SessionStore, place: Place, event: Event, session_id: str = "s") -> Event:
    """Append through a copy of one's own, a second time if it was outrun."""
    session = await store.get_session(**place.at(session_id))
    assert session is not None
    while True:
        try:
            return await store.append_event(session, event)
        except StaleSessionError:
            continue


def _services(place: Place, count: int) -> Sequence[SessionStore]:
    return [place.service() for _ in range(count)]


async def _one_creator(place: Place, services: int) -> None:
    stores = _services(place, services)
    calls = (
        stores[n % services].create_session(**place.at(), state={"n": n, "app:by": n, "user:by": n})
        for n in range(_TASKS)
    )
    won = await _outcomes(calls, AlreadyExistsError)
    same(len(won), 1)
    assert isinstance(won[0], Session)
    same((await reread(place, stores[0])).state, won[0].state)


async def a_race_to_create_has_one_winner(place: Place) -> None:
    """Many tasks create a session of one id: one does, the others are refused, and their state is nowhere."""
    await _one_creator(place, 1)


async def _one_event(place: Place, services: int) -> None:
    stores = _services(place, services)
    await stores[0].create_session(**place.at())
    for round_ in range(3):
        calls = (
            _append(stores[n % services], place, text_event(f"{n}", id=f"id{round_}", state={"n": n, "app:n": n}))
            for n in range(_TASKS)
        )
        won = await _outcomes(calls, AlreadyExistsError)
        same(len(won), 1)
        session = await reread(place, stores[0])
        same([event.id for event in session.events], [f"id{number}" for number in range(round_ + 1)])
        number = int(str(texts(session)[-1]))
        same(session.state, {"n": number, "app:n": number})


async def a_race_for_an_event_id_has_one_winner(place: Place) -> None:
    """Many tasks append an event of one id: one is stored, with its state; the others are refused."""
    await _one_event(place, 1)


async def _no_state_is_lost(place: Place, services: int) -> None:
    stores = _services(place, services)
    for number in range(_TASKS):
        await stores[0].create_session(**place.at(f"{number}"))
    calls = (
        _append(stores[n % services], place, wrote(**{f"app:a{n}": n, f"user:u{n}": n}), f"{n}") for n in range(_TASKS)
    )
    await asyncio.gather(*calls)
    shared = {f"{scope}{n}": n for scope in ("app:a", "user:u") for n in range(_TASKS)}
    same((await reread(place, stores[0], "0")).state, shared)


async def shared_state_is_never_overwritten(place: Place) -> None:
    """Sessions that write different keys of ``app:`` and ``user:`` at once: each key is kept."""
    await _no_state_is_lost(place, 1)


async def _one_next(place: Place, services: int) -> None:
    stores = _services(place, services)
    await stores[0].create_session(**place.at())
    for round_ in range(3):
        calls = (
            stores[n % services].append_out_of_band(**place.at(), event=text_event(f"{n}", author="user"), after=round_)
            for n in range(_TASKS)
        )
        same(len(await _outcomes(calls, StaleSessionError)), 1)
        same(len((await reread(place, stores[0])).events), round_ + 1)
    event = text_event("late", author="user", state={"app:late": 1})
    await refused(stores[-1].append_out_of_band(**place.at(), event=event, after=1), StaleSessionError)
    same((await reread(place, stores[0])).state, {})


async def a_race_to_be_next_has_one_winner(place: Place) -> None:
    """Many tasks append out of band after the same events: one does, and of the others nothing is stored."""
    await _one_next(place, 1)


async def _deleted_or_stored(place: Place, services: int) -> None:
    stores = _services(place, services)
    for round_ in range(4):
        session = await stores[0].create_session(**place.at(f"{round_}"))
        append = stores[0].append_event(session, text_event("x", state={f"app:{round_}": 1}))
        delete = stores[-1].delete_session(**place.at(f"{round_}"))
        await _outcomes([append, delete] if round_ % 2 else [delete, append], SessionNotFoundError)
        for store in stores:
            same(await store.get_session(**place.at(f"{round_}")), None)
    same((await stores[0].list_sessions(app_name=place.app)).sessions, [])


async def a_deletion_ends_a_session(place: Place) -> None:
    """An append that meets a deletion comes before it or is refused: it never brings the session back."""
    await _deleted_or_stored(place, 1)


async def two_services_create_a_session_once(place: Place) -> None:
    """As two processes would, at once: one does, the others are refused."""
    await _one_creator(place, 2)


async def two_services_store_an_event_once(place: Place) -> None:
    """The event's id counts wherever it was stored, so that who got no answer can try again elsewhere."""
    await _one_event(place, 2)
    one, two = _services(place, 2)
    await one.create_session(**place.at("t"))
    await _append(one, place, text_event("first", id="same"), "t")
    await refused(_append(two, place, text_event("second", id="same", state={"n": 1}), "t"), AlreadyExistsError)
    session = await reread(place, one, "t")
    same((texts(session), session.state.get("n")), (["first"], None))


async def two_services_have_one_next_event(place: Place) -> None:
    """As two processes would that append out of band after the same events."""
    await _one_next(place, 2)


async def two_services_lose_no_shared_state(place: Place) -> None:
    """Keys of ``app:`` and ``user:`` that two services write at once are kept."""
    await _no_state_is_lost(place, 2)


async def a_deletion_reaches_every_service(place: Place) -> None:
    """A session that one service deleted takes nothing more through the other, even if it has been made again."""
    await _deleted_or_stored(place, 2)
    one, two = _services(place, 2)
    session = await one.create_session(**place.at())
    await one.append_event(session, text_event("old", state={"own": 1}))
    await two.delete_session(**place.at())
    same(await one.open(**place.at()), None)
    await refused(one.append_event(session, text_event("ghost", state={"app:ghost": 1})), SessionNotFoundError)
    again = await two.create_session(**place.at())
    await two.append_event(again, text_event("new"))
    await refused(one.append_event(session, text_event("ghost", state={"app:ghost": 1})), SessionNotFoundError)
    got = await reread(place, one)
    same((texts(got), got.state.get("own"), got.state.get("app:ghost")), (["new"], None, None))


async def services_that_append_at_once_agree(place: Place) -> None:
    """Each event is stored once, a view that was outrun is refused, and both services read one order."""
    stores = _services(place, 2)
    await stores[0].create_session(**place.at())
    for _ in range(3):  # both have read the same events: the second to write is stale
        views = [await store.get_session(**place.at()) for store in stores]
        calls = (
            store.append_event(view, text_event(f"{n}", state={"last": n}))
            for n, (store, view) in enumerate(zip(stores, views, strict=True))
            if view is not None
        )
        same(len(await _outcomes(calls, StaleSessionError)), 1)

    async def go(number: int) -> None:
        for step in range(4):
            event = text_event(f"{number}.{step}", state={"last": f"{number}.{step}"})
            await _append(stores[number % 2], place, event)

    await asyncio.gather(*map(go, range(6)))
    one, two = [await store.get_session(**place.at()) for store in stores]
    assert one is not None
    assert two is not None
    got = texts(one)
    same((got, one.state, one.version), (texts(two), two.state, two.version))
    same((one.version, one.state), (3 + 24, {"last": got[-1]}))
    for number in range(6):
        mine = [text for text in got if str(text).startswith(f"{number}.")]
        same(mine, [f"{number}.{step}" for step in range(4)])


async def a_race_for_a_lease_has_one_winner(place: Place) -> None:
    """Of many owners that claim a session at once one gets it, whether it is free or its lease has run out."""
    stores = [store for store in _services(place, 2) if isinstance(store, SharedSessionStore)]
    await stores[0].create_session(**place.at())
    for round_ in range(3):
        calls = (stores[n % 2].claim(**place.at(), owner=f"{round_}.{n}", ttl=60) for n in range(_TASKS))
        views = [(n % 2, view) for n, view in enumerate(await asyncio.gather(*calls)) if view is not None]
        same(len(views), 1)
        which, view = views[0]
        await stores[which].append_event(view, text_event(f"{round_}"))
        await stores[which].renew(view, ttl=-1)
        now = await stores[1 - which].claim(**place.at(), owner="later", ttl=60)
        assert now is not None, "a session with an expired lease could not be claimed"
        await refused(stores[which].append_event(view, text_event("late")), FencedError)
        await stores[1 - which].release(now)
    same(texts(await reread(place, stores[0])), ["0", "1", "2"])


RACE_CHECKS = {
    check.__name__: check
    for check in (
        a_race_to_create_has_one_winner,
        a_race_for_an_event_id_has_one_winner,
        a_race_to_be_next_has_one_winner,
        shared_state_is_never_overwritten,
        a_deletion_ends_a_session,
    )
}
SHARED_RACE_CHECKS = {
    check.__name__: check
    for check in (
        two_services_create_a_session_once,
        two_services_store_an_event_once,
        two_services_have_one_next_event,
        two_services_lose_no_shared_state,
        a_deletion_reaches_every_service,
        services_that_append_at_once_agree,
        a_race_for_a_lease_has_one_winner,
    )
}
