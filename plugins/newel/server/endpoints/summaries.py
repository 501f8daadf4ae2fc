"""Summaries: a line about each of a user's sessions, for lists."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from newel.models.policies.model_costs import noted_cost
from newel.questions.question import open_questions
from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import Body, owner
from newel.server.state import State
from newel_kernel import Log, Session

#: The state's key under which google-adk's page keeps a title.
_METADATA = "__session_metadata__"
_MOST_CHARACTERS = 120
#: How many sessions a search looks through: those used last.
_MOST_SEARCHED = 2_000


class Latest(BaseModel):
    """How many sessions are asked for."""

    limit: int = Field(20, ge=1, le=500)
    offset: int = Field(0, ge=0)
    #: Only sessions with this text in their title, an event's text, or a tool's name.
    query: str = ""


class Summary(Body):
    """A line about a session."""

    id: str
    #: What it was named, or the beginning of what the user said first.
    title: str
    #: Whether a run is under way, a question waits, the last run failed; else all is done.
    status: Literal["running", "asks", "failed", "done"]
    last_update_time: float
    events: int
    #: US dollars; None: no price is known.
    cost: float | None
    #: Whether `cost` leaves out calls without a known price.
    incomplete: bool


class Summaries(Body):
    """The sessions that were used last, and how many there are."""

    total: int
    sessions: list[Summary]


@endpoint(query=Latest, answer=Summaries)
async def list_summaries(call: Call) -> object:
    """The user's sessions that were used last, each as a line."""
    server, where, asked = call.server, owner(call), call.query
    listed = (await server.services.session.list_sessions(**where)).sessions
    listed.sort(key=lambda one: one.last_update_time, reverse=True)
    if not asked.query:
        page = listed[asked.offset : asked.offset + asked.limit]
        opened = [await server.services.session.open(**where, session_id=one.id) for one in page]
        found = [one for one in opened if one is not None]
        return Summaries(total=len(listed), sessions=[_summary(server, one) for one in found])
    words, hits = asked.query.casefold(), []
    for one in listed[:_MOST_SEARCHED]:
        session = await server.services.session.open(**where, session_id=one.id)
        if session is not None and _has(session, words):
            hits.append(session)
    page = hits[asked.offset : asked.offset + asked.limit]
    return Summaries(total=len(hits), sessions=[_summary(server, one) for one in page])


def _has(session: Session, words: str) -> bool:
    """Whether a session says these words."""
    if words in _title(session).casefold():
        return True
    for event in session.events:
        for part in (event.content.parts or ()) if event.content is not None else ():
            if part.text and words in part.text.casefold():
                return True
            if part.function_call is not None and words in (part.function_call.name or "").casefold():
                return True
    return False


def _summary(server: State, session: Session) -> Summary:
    costs = [noted_cost(one.usage_metadata) for one in session.events if one.usage_metadata is not None]
    known = [one for one in costs if one is not None]
    return Summary(
        id=session.id,
        title=_title(session),
        status=_status(server, session),
        last_update_time=session.last_update_time,
        events=len(session.events),
        cost=sum(known) if known else None,
        incomplete=len(known) < len(costs),
    )


def _title(session: Session) -> str:
    named = session.state.get(_METADATA)
    if isinstance(named, dict) and isinstance(text := named.get("displayName"), str) and text:
        return text[:_MOST_CHARACTERS]
    for event in session.events:
        if event.author == "user" and event.content is not None:
            text = " ".join(part.text for part in event.content.parts or () if part.text)
            if text.strip():
                return " ".join(text.split())[:_MOST_CHARACTERS]
    return ""


def _status(server: State, session: Session) -> Literal["running", "asks", "failed", "done"]:
    if server.runs_of(session.app_name, session.user_id, session.id):
        return "running"
    if open_questions(Log(session.events)):
        return "asks"
    last = next((one for one in reversed(session.events) if one.author != "user"), None)
    return "failed" if last is not None and last.error_code else "done"
