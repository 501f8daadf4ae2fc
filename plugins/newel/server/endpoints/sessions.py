"""Sessions: created, read, listed in pages, changed and deleted."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError, to_json
from starlette.responses import Response

from newel.artifacts.contract import ArtifactStore
from newel.server.calls import Call, endpoint
from newel.server.places import Owner, Place
from newel.server.refusals import JSON, Refusal
from newel.server.schemas import Needs
from newel.sessions.contract import SessionStore
from newel.sessions.errors import StoreUnavailableError, UnfitNameError
from newel.sessions.forking import fork_session
from newel_kernel import Event, Json, Session, SessionError, SessionNotFoundError, seam

_INITIAL = "p-"


#: Neither end is a blank.
_UNPADDED = r"^(?!\s)[\s\S]*\S(?![\s\S])"


def _unpadded(id_: str) -> str:
    if id_ != id_.strip():
        raise PydanticCustomError("padded", "must not begin or end with a blank")
    return id_


class Body(BaseModel):
    """A body whose fields may be written in camel case or with underscores."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


#: The id of a new session: stores strip the blanks around it, and it would not be found under the name that was given.
NewId = Annotated[str, AfterValidator(_unpadded), Field(min_length=1, json_schema_extra={"pattern": _UNPADDED})]


class Fork(Body):
    """Another session of the user, of which a new one has the first `events` events; None: all."""

    session_id: str = Field(min_length=1)
    events: int | None = Field(None, ge=0)


class NewSession(Body):
    """A session to create; `events` are those of another one.

    With `fork_of` it begins with the events of a session, the state after them, and its files; `events` follow, and
    `state` is a change at its end.
    """

    session_id: NewId | None = None
    state: Json | None = None
    events: list[Annotated[Event, Needs("author")]] | None = None
    fork_of: Fork | None = None


class SessionPath(BaseModel):
    """The path of a session that is to be created."""

    session_id: NewId


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
    """The events after the first `after`; or the `last` so many, wherever they begin."""

    after: int = Field(0, ge=0)
    limit: int = Field(500, ge=1, le=10_000)
    last: int | None = Field(None, ge=1, le=10_000)


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
    if body.fork_of is not None:
        return await _forked(call, body, body.fork_of)
    return await _created(call, body.session_id, body.state, body.events or [])


@endpoint(body=Json, optional_body=True, path=SessionPath, answer=SessionAnswer)
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
    total = len(session.events)
    after, limit = (asked.after, asked.limit) if asked.last is None else (max(0, total - asked.last), asked.last)
    data = to_json({"total": total, "after": after, "state": session.state}, inf_nan_mode="null")
    events = session.events[after : after + limit]
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


async def _forked(call: Call, body: NewSession, of: Fork) -> Response:
    services = call.server.services
    if not isinstance(services.session, SessionStore):
        raise Refusal(409, f"{type(services.session).__name__} cannot fork sessions")
    fork = await fork_session(
        services.session,
        services.artifact,
        **owner(call),
        session_id=of.session_id,
        new_session_id=body.session_id,
        events=of.events,
    )
    events = list(body.events or ())
    if body.state:
        events.append(Event(invocation_id=f"{_INITIAL}{seam.new_id()}", author="user", state=body.state))
    return await _filled(call, Place(**owner(call), session_id=fork.id), events)


async def _created(call: Call, session_id: str | None, state: Json | None, events: list[Event]) -> Response:
    store, where = call.server.services.session, owner(call)
    session = await store.create_session(**where, state=state, session_id=session_id)
    if not events:
        return await _answer(call, session)
    return await _filled(call, Place(**where, session_id=session.id), events)


async def _filled(call: Call, place_of_it: Place, events: list[Event]) -> Response:
    """A new session with these events at its end: all of it, or nothing."""
    store = call.server.services.session
    try:
        view: Any = await store.open(**place_of_it)
        for event in events:
            await store.append_event(view, event)
    except SessionError as error:
        await store.delete_session(**place_of_it)
        if isinstance(error, (StoreUnavailableError, UnfitNameError)):
            raise
        raise Refusal(409, f"the events cannot be stored: {error}") from None
    return await _answer(call, view)


async def _answer(call: Call, session: Session) -> Response:
    wire = await call.server.wire(session.app_name)
    return Response(wire.session(session), media_type=JSON)
