"""Sessions: created, read, listed in pages, changed and deleted."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import to_json
from starlette.responses import Response

from newel.artifacts.contract import ArtifactStore
from newel.server.calls import Call, endpoint
from newel.server.places import Owner, Place
from newel.server.refusals import JSON, Refusal
from newel.server.schemas import Needs
from newel.sessions.contract import SessionStore
from newel_kernel import Event, Json, Session, SessionError, SessionNotFoundError, seam

_INITIAL = "p-"


class Body(BaseModel):
    """A body whose fields may be written in camel case or with underscores."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class NewSession(Body):
    """A session to create; `events` are those of another one."""

    session_id: str | None = Field(None, min_length=1)
    state: Json | None = None
    events: list[Annotated[Event, Needs("author")]] | None = None


class SessionUpdate(Body):
    """A change of a session's state; None removes a key."""

    state_delta: Json


class SessionAnswer(Body):
    """A session with its events."""

    id: str
    app_name: str
    user_id: str
    state: Json
    events: list[Event]
    last_update_time: float


class Page(BaseModel):
    """Which part of a list is asked for: all if `limit` is left out."""

    limit: int | None = Field(None, ge=1, le=1000)
    after: str | None = None


class EventRange(BaseModel):
    """The events after the first `after`."""

    after: int = Field(0, ge=0)
    limit: int = Field(500, ge=1, le=10_000)


class EventPage(Body):
    """Some events of a session, and how many it has."""

    total: int
    after: int
    state: Json
    events: list[Event]


@endpoint(body=NewSession, optional_body=True, answer=SessionAnswer)
async def create_session(call: Call) -> Response:
    """Create a session, with an id of its own if none is given."""
    body = call.body or NewSession(session_id=None)
    return await _created(call, body.session_id, body.state, body.events or [])


@endpoint(body=Json, optional_body=True, answer=SessionAnswer)
async def create_session_with_id(call: Call) -> Response:
    """Create a session under the id in the path; the body is its state."""
    return await _created(call, call.path["session_id"], call.body, [])


@endpoint(answer=SessionAnswer)
async def get_session(call: Call) -> Response:
    """A session with its events."""
    return await _answer(call, await opened(call))


@endpoint(query=EventRange, answer=EventPage)
async def list_events(call: Call) -> Response:
    """Stored events of a session by their numbers, with its present state."""
    session, asked = await opened(call), call.query
    wire = await call.server.wire(session.app_name)
    head = {"total": len(session.events), "after": asked.after, "state": session.state}
    data = to_json(head, inf_nan_mode="null")
    events = session.events[asked.after : asked.after + asked.limit]
    return Response(data[:-1] + b',"events":' + wire.events(events) + b"}", media_type=JSON)


@endpoint(query=Page, answer=list[SessionAnswer])
async def list_sessions(call: Call) -> Response:
    """The user's sessions without their events; the header `link` leads to the next page."""
    store, wire = call.server.services.session, call.server.bare_wire
    where = owner(call)
    headers: dict[str, str] = {}
    if call.query.limit is None or not isinstance(store, SessionStore):
        sessions = (await store.list_sessions(**where)).sessions
    else:
        try:
            page = await store.list_page(**where, size=call.query.limit, after=call.query.after)
        except SessionError as error:
            raise Refusal(404, str(error)) from None  # `after` is a page that the store has not named
        sessions = page.sessions
        if page.next is not None:
            headers["link"] = f'<?limit={call.query.limit}&after={quote(page.next)}>; rel="next"'
    data = b"[" + b",".join(wire.session(session, ()) for session in sessions) + b"]"
    return Response(data, headers=headers, media_type=JSON)


@endpoint(body=SessionUpdate, answer=SessionAnswer)
async def update_session(call: Call) -> Response:
    """Change the state of a session by an event of the user."""
    store = call.server.services.session
    event = Event(invocation_id=f"{_INITIAL}{seam.new_id()}", author="user", state=call.body.state_delta)
    if isinstance(store, SessionStore):  # a run that is under way goes on
        await store.append_out_of_band(**place(call), event=event)
    else:
        await store.append_event(await opened(call), event)
    return await _answer(call, await opened(call))


@endpoint(answer=None)
async def delete_session(call: Call) -> None:
    """Delete a session and its artifacts. An unknown one is gone already."""
    where = place(call)
    await call.server.end_runs(**where)
    await call.server.services.session.delete_session(**where)
    if isinstance(call.server.services.artifact, ArtifactStore):
        await call.server.services.artifact.delete_session(**where)
    if call.server.traces is not None:
        call.server.traces.forget((where["app_name"], where["user_id"], where["session_id"]))


def owner(call: Call) -> Owner:
    """The app and the user that a path names."""
    return Owner(app_name=call.path["app_name"], user_id=call.path["user_id"])


def place(call: Call) -> Place:
    """The session that a path names."""
    return Place(app_name=call.path["app_name"], user_id=call.path["user_id"], session_id=call.path["session_id"])


async def opened(call: Call) -> Session:
    """A view of the session that a path names; SessionNotFoundError if there is none."""
    session = await call.server.services.session.open(**place(call))
    if session is None:
        raise SessionNotFoundError(f"there is no session {call.path['session_id']!r}")
    return session


async def _created(call: Call, session_id: str | None, state: Json | None, events: list[Event]) -> Response:
    store, where = call.server.services.session, owner(call)
    session = await store.create_session(**where, state=state, session_id=session_id)
    if not events:
        return await _answer(call, session)
    place_of_it = Place(**where, session_id=session.id)
    try:
        view: Any = await store.open(**place_of_it)
        for event in events:
            await store.append_event(view, event)
    except SessionError as error:
        await store.delete_session(**place_of_it)  # all of it, or nothing
        raise Refusal(422, f"the events cannot be stored: {error}") from None
    return await _answer(call, view)


async def _answer(call: Call, session: Session) -> Response:
    wire = await call.server.wire(session.app_name)
    return Response(wire.session(session), media_type=JSON)
