"""Feedback: what people think of answers. It is stored in the session, and no model ever sees it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import Body, opened, owner, place
from newel.server.refusals import Refusal
from newel.sessions.contract import SessionStore
from newel_kernel import Event, Json, Session, seam

#: The key of an event's `custom_metadata` under which a rating is stored, with the id of the event that it is about.
FEEDBACK = "newel.feedback"
Rating = Literal["up", "down"]
#: How many sessions a list looks through: those used last.
_MOST_SEARCHED = 2_000
_MOST_CHARACTERS = 500


class Opinion(Body):
    """A rating of an answer; None takes it back."""

    rating: Rating | None
    comment: str = Field("", max_length=10_000)


class FeedbackAnswer(Body):
    """A rating, and the answer that it is about."""

    session_id: str
    event_id: str
    #: The place of the event in its session, from 0.
    index: int
    rating: Rating
    comment: str
    #: When it was given, in seconds since the epoch.
    timestamp: float
    author: str
    #: The beginning of the answer.
    text: str


class Wanted(BaseModel):
    """Which ratings are asked for: all, or only those."""

    rating: Rating | None = None


@endpoint(body=Opinion, answer=None)
async def rate_event(call: Call) -> None:
    """Rate an event that is not the user's, again as often as one likes: the last rating counts."""
    session, id_ = await opened(call), call.path["event_id"]
    rated = next((one for one in session.events if one.id == id_), None)
    if rated is None:
        raise Refusal(404, "Event not found")
    if rated.author == "user":
        raise Refusal(400, "the event is the user's own: rate one of an agent")
    note: Json = {"event_id": id_, "rating": call.body.rating, "comment": call.body.comment}
    event = Event(invocation_id=f"p-{seam.new_id()}", author="user", custom_metadata={FEEDBACK: note})
    store = call.server.services.session
    if isinstance(store, SessionStore):  # a run that is under way goes on
        await store.append_out_of_band(**place(call), event=event)
    else:
        await store.append_event(session, event)


@endpoint(query=Wanted, answer=list[FeedbackAnswer])
async def list_feedback(call: Call) -> object:
    """The ratings in all of a user's sessions with an app, the latest first."""
    store, where = call.server.services.session, owner(call)
    listed = (await store.list_sessions(**where)).sessions
    listed.sort(key=lambda one: one.last_update_time, reverse=True)
    found: list[FeedbackAnswer] = []
    for one in listed[:_MOST_SEARCHED]:
        if (session := await store.open(**where, session_id=one.id)) is not None:
            found += ratings_of(session)
    wanted = [one for one in found if call.query.rating in (None, one.rating)]
    return sorted(wanted, key=lambda one: one.timestamp, reverse=True)


def ratings_of(session: Session) -> list[FeedbackAnswer]:
    """The ratings in a session: of each event the last one, unless it was taken back."""
    events = {one.id: (index, one) for index, one in enumerate(session.events)}
    latest: dict[str, tuple[Event, Json]] = {}
    for event in session.events:
        note = (event.custom_metadata or {}).get(FEEDBACK)
        if isinstance(note, dict) and note.get("event_id") in events:
            latest[note["event_id"]] = (event, note)
    return [
        FeedbackAnswer(
            session_id=session.id,
            event_id=id_,
            index=events[id_][0],
            rating=note["rating"],
            comment=str(note.get("comment", "")),
            timestamp=event.timestamp,
            author=events[id_][1].author,
            text=_text(events[id_][1]),
        )
        for id_, (event, note) in latest.items()
        if note.get("rating") in ("up", "down")
    ]


def _text(event: Event) -> str:
    parts = (event.content.parts or ()) if event.content is not None else ()
    return " ".join(part.text for part in parts if part.text and not part.thought)[:_MOST_CHARACTERS]
