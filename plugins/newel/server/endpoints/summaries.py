"""Summaries: a line about each of a user's sessions, for lists."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel, Field

from newel.claims.leasing import is_leasing
from newel.contexts.usages import noted_cost
from newel.engines.engine import EngineUnavailableError
from newel.evaluation.constants import SESSION_PREFIX
from newel.questions.question import open_questions
from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import Body, owner
from newel.server.places import Owner
from newel.server.session_filters import Filter, found_by, title_of
from newel.server.state import State
from newel_kernel import Log, Session
from newel_types import deferred

#: What knows the runs of workers loads with the first.
_at_work = deferred("newel.server.engine_sessions", "at_work")


class Latest(BaseModel):
    """How many sessions are asked for."""

    limit: int = Field(20, ge=1, le=500)
    offset: int = Field(0, ge=0)
    #: Whether the sessions in which evaluation cases ran are listed, too.
    cases: bool = False
    #: Only sessions with this text in their title, an event's text, an error, or a tool's name.
    query: str = Field("", max_length=1_000)
    #: Only those in which a tool with this in its name was called, or an agent with this in its name wrote.
    tool: str = Field("", max_length=200)
    agent: str = Field("", max_length=200)
    #: Only those in which a model call or a tool failed.
    failed: bool = False
    #: Only those that cost more US dollars, and of which a run took more seconds.
    cost_above: float | None = Field(None, ge=0)
    slower_than: float | None = Field(None, ge=0)


class Summary(Body):
    """A line about a session."""

    id: str
    #: What it was named, or the beginning of what the user said first.
    title: str
    #: Whether a run is under way in any process or waits for a worker, a question waits, the last run failed; else all
    #: is done.
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
    #: How many were looked through, those used last, because the store cannot search; None: all were.
    searched: int | None = None
    sessions: list[Summary]


@endpoint(query=Latest, answer=Summaries)
async def list_summaries(call: Call) -> object:
    """The user's sessions that were used last, each as a line."""
    server, where, asked = call.server, owner(call), call.query
    asked_for = Filter(**asked.model_dump(exclude={"limit", "offset", "query", "cases"}), text=asked.query)
    store, part = server.services.session, slice(asked.offset, asked.offset + asked.limit)
    if not asked_for.is_any:
        found_here, searched = await found_by(store, **where, asked=asked_for)
        hits = [one for one in found_here if asked.cases or not one.id.startswith(SESSION_PREFIX)]
        return Summaries(total=len(hits), searched=searched, sessions=await _summaries(server, hits[part]))
    listed_here = (await store.list_sessions(**where)).sessions
    listed = [one for one in listed_here if asked.cases or not one.id.startswith(SESSION_PREFIX)]
    listed.sort(key=lambda one: one.last_update_time, reverse=True)
    opened = [await store.open(**where, session_id=one.id) for one in listed[part]]
    found = [one for one in opened if one is not None]
    return Summaries(total=len(listed), sessions=await _summaries(server, found))


async def _summaries(server: State, sessions: Sequence[Session]) -> list[Summary]:
    """The lines of a user's sessions."""
    if not sessions:
        return []
    at_work = {run.session_id for run in server.runs_of(sessions[0].app_name, sessions[0].user_id)}
    if is_leasing(store := server.services.session):  # whichever process has them
        at_work |= {one.id for one in sessions if store.holder(one) is not None}
    if server.engine is not None:
        whose = Owner(app_name=sessions[0].app_name, user_id=sessions[0].user_id)
        with suppress(EngineUnavailableError):  # the sessions are there all the same
            at_work |= await _at_work()(server.engine, whose)
    return [_summary(one, one.id in at_work) for one in sessions]


def _summary(session: Session, is_running: bool) -> Summary:
    costs = [noted_cost(one.usage_metadata) for one in session.events if one.usage_metadata is not None]
    known = [one for one in costs if one is not None]
    return Summary(
        id=session.id,
        title=title_of(session),
        status="running" if is_running else _status(session),
        last_update_time=session.last_update_time,
        events=len(session.events),
        cost=sum(known) if known else None,
        incomplete=len(known) < len(costs),
    )


def _status(session: Session) -> Literal["asks", "failed", "done"]:
    if open_questions(Log(session.events)):
        return "asks"
    last = next((one for one in reversed(session.events) if one.author != "user"), None)
    return "failed" if last is not None and last.error_code else "done"
