"""Traces of a session's runs: of recent ones as they were seen, of others as their stored events tell.

A path names no user. If nobody says whose session it is and several users have one of that id, it is the one that was
used last: nobody sees the spans of two users at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel

from newel.server.calls import Call, endpoint
from newel.server.refusals import Refusal
from newel.server.stored_traces import StoredTraces
from newel.server.traces import INVOCATION, REQUEST, RESPONSE, Place
from newel.sessions.contract import SessionStore
from newel_kernel import Json, Session

#: How many sessions are looked through for one of that id, and for an event.
_MOST_LISTED, _MOST_OPENED = 5_000, 200
_PAGE = 500


class Whose(BaseModel):
    """Whose session it is, by default that of the last use; and for an event, in which session."""

    user_id: str | None = None
    session_id: str | None = None
    #: Whether spans have the texts of requests and responses, each of which repeats the conversation before it.
    texts: bool = True


class SpanAnswer(BaseModel):
    """An operation of a run; times in nanoseconds since the epoch."""

    name: str
    span_id: int
    trace_id: int
    parent_span_id: int | None
    start_time: int
    end_time: int
    attributes: dict[str, Any]


@endpoint(query=Whose, answer=list[SpanAnswer])
async def trace_of_session(call: Call) -> object:
    """The spans of a session's runs, in the order in which they began."""
    id_, app, user = call.path["session_id"], _app(call), _user(call)
    traces = call.server.traces
    places = {one: when for one, when in traces.places(id_).items() if _fits(one, app, user)} if traces else {}
    async for session in _stored(call, app, user):
        if session.id == id_:
            place = (session.app_name, session.user_id, id_)
            places[place] = max(places.get(place, 0), session.last_update_time)
    if not places:
        return []
    place = max(places, key=lambda one: places[one])
    spans: list[Json] = traces.of_session(place) if traces is not None else []
    if (stored := await _opened(call, place)) is not None:
        spans += StoredTraces(stored).spans(without={one["attributes"].get(INVOCATION) for one in spans})
    if not call.query.texts:
        spans = [_without_texts(one) for one in spans]
    return sorted(spans, key=lambda span: (span["start_time"], -span["end_time"]))


@endpoint(query=Whose, answer=dict[str, Any])
async def trace_of_event(call: Call) -> object:
    """The attributes of the model call or tool call that made an event."""
    id_, app, user, traces = call.path["event_id"], _app(call), _user(call), call.server.traces
    if traces is not None and (found := traces.of_event(app, user, id_)) is not None:
        return found
    opened = 0
    async for listed in _stored(call, app, user):
        if call.query.session_id not in (None, listed.id):
            continue
        session = await _opened(call, (listed.app_name, listed.user_id, listed.id))
        if session is not None and (found := StoredTraces(session).of_event(id_)) is not None:
            return found
        opened += 1
        if opened >= _MOST_OPENED:
            raise Refusal(404, f"Trace not found in {opened} sessions: name one, ?user_id=USER&session_id=SESSION")
    raise Refusal(404, "Trace not found")


def _without_texts(span: Json) -> Json:
    kept = {name: value for name, value in span["attributes"].items() if name not in (REQUEST, RESPONSE)}
    return {**span, "attributes": kept}


def _fits(place: Place, app: str | None, user: str | None) -> bool:
    return app in (None, place[0]) and user in (None, place[1])


async def _stored(call: Call, app: str | None, user: str | None) -> AsyncIterator[Session]:
    """The stored sessions; if user and session are known, that one alone."""
    id_ = call.path.get("session_id") or call.query.session_id
    for name in [app] if app is not None else await call.server.app_names():
        if user is not None and id_ is not None:
            if (session := await _opened(call, (name, user, id_))) is not None:
                yield session
            continue
        async for session in _listed(call, name, user):
            yield session


async def _listed(call: Call, app: str, user: str | None) -> AsyncIterator[Session]:
    store, after = call.server.services.session, None
    if not isinstance(store, SessionStore):
        for session in (await store.list_sessions(app_name=app, user_id=user)).sessions:
            yield session
        return
    for _ in range(_MOST_LISTED // _PAGE):
        page = await store.list_page(app_name=app, user_id=user, size=_PAGE, after=after)
        for session in page.sessions:
            yield session
        if (after := page.next) is None:
            return


async def _opened(call: Call, place: Place) -> Session | None:
    app, user, id_ = place
    return await call.server.services.session.open(app_name=app, user_id=user, session_id=id_)


def _user(call: Call) -> str | None:
    """The user that is asked about; None: any."""
    named: str | None = call.query.user_id
    if call.user is not None and named not in (None, call.user):
        raise Refusal(403, "the query names another user than the one who calls")
    return call.user or named


def _app(call: Call) -> str | None:
    """The app of the path; the oldest paths have none."""
    name = call.path.get("app_name")
    if name is not None and call.server.stored is None:
        call.server.apps.place(name)
    return name
