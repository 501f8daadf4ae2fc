"""Verification: whether a stored session is whole: its sequence, its calls and results, and its state."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic_core import to_json

from newel.sessions.call_pairs import CallPairs
from newel.sessions.scopes import split_by_scope
from newel.sessions.stored.rows import Key, decode_events
from newel.sessions.stored.service import StoredSessionService
from newel_kernel import BaseSessionService, Event, Json, Session, SessionError

_CHUNK = 500


async def problems_of(store: BaseSessionService, session: Session) -> list[str]:
    """The problems of a session that was listed; empty if there are none.

    In a whole session the events are numbered from 0 on without gaps, have unique ids, and can be read; every call has
    its result or waits, and every agent's result has its call; the session's own state has the values that the deltas
    wrote last. ``app:`` and ``user:`` state is written by other sessions too, and is not compared.
    """
    problems: list[str] = []
    pairs, ids, replayed = CallPairs(), set[str](), Json()
    async for event in _events(store, session, problems):
        if event.id in ids:
            problems.append(f"event {event.id}: another event has the same id")
        ids.add(event.id)
        pairs.see(event)
        if event.touched_actions is not None:
            replayed |= split_by_scope(event.touched_actions.state_delta)[2]
    pairs.end()
    for id_, calls in pairs.unanswered.items():
        problems.append(f"event {id_}: no result of the call(s) {', '.join(sorted(calls))}")
    for id_, results in pairs.stray.items():
        problems.append(f"event {id_}: no call of the result(s) {', '.join(sorted(results))}")
    for name, value in replayed.items():
        if _form(session.state.get(name)) != _form(value):
            problems.append(f"state {name!r}: it is not what the events wrote last")
    return problems


def _form(value: object) -> object:
    """The value, or its stored form if it has a NaN, which is not equal to itself."""
    data = to_json(value, inf_nan_mode="constants")
    return data if b"NaN" in data else value


async def _events(store: BaseSessionService, session: Session, problems: list[str]) -> AsyncIterator[Event]:
    """The events that can be read; of those of a durable store, one after another as they are stored."""
    key = Key(session.app_name, session.user_id, session.id)
    if not isinstance(store, StoredSessionService):
        whole = await store.get_session(app_name=key.app_name, user_id=key.user_id, session_id=key.id)
        for event in whole.events if whole is not None else ():
            yield event
        return
    place = 0
    while True:
        version, rows = await store.stored_rows(key, place, _CHUNK)
        there = dict(rows)
        for number in range(place, min(place + _CHUNK, version or 0)):
            if number not in there:
                problems.append(f"event {number}: it is missing from the sequence")
                continue
            try:
                (event,) = decode_events([(number, there[number])], key)
            except SessionError as error:
                problems.append(str(error))
                continue
            yield event
        place += _CHUNK
        if version is None or place >= version:
            return
