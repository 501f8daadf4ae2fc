"""Session filters: which sessions a search asks for, and whether one is among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from newel.contexts.usages import noted_cost
from newel.server.places import Owner
from newel.sessions.contract import SearchableSessions
from newel_kernel import BaseSessionService, Event, Session

#: The state's key under which google-adk's page keeps a title.
METADATA = "__session_metadata__"
_MOST_CHARACTERS = 120
#: How many sessions are looked through if the store cannot search: those used last.
_MOST_SEARCHED = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a session must have; what is left out, any session has. Upper and lower case are the same."""

    #: In the title, an event's text, an error's message or a tool's name.
    text: str = ""
    #: In the name of a tool that was called, and of an agent that wrote an event.
    tool: str = ""
    agent: str = ""
    #: Whether a model call or a tool failed.
    failed: bool = False
    #: US dollars that the session has cost at least, and seconds that one of its runs took at least; more than that.
    cost_above: float | None = None
    slower_than: float | None = None

    @property
    def is_any(self) -> bool:
        """Whether every session has it."""
        return self == _ANY

    @property
    def texts(self) -> list[str]:
        """What occurs in the stored JSON of each such session."""
        found = [*self.text.split(), self.tool, self.agent]
        if self.failed:
            found.append("error")
        if self.cost_above is not None and self.cost_above >= 0:
            found.append("cost")
        return [one for one in found if one]

    def fits(self, session: Session) -> bool:
        """Whether a session has all of it."""
        return (
            (not self.text or self._says(session))
            and (not self.tool or any(self.tool.lower() in name.lower() for name in _tools(session)))
            and (not self.agent or any(self.agent.lower() in one.author.lower() for one in session.events))
            and (not self.failed or any(map(_failed, session.events)))
            and (self.cost_above is None or _cost(session) > self.cost_above)
            and (self.slower_than is None or _slowest(session) > self.slower_than)
        )

    def _says(self, session: Session) -> bool:
        words = self.text.lower()
        if words in title_of(session).lower():
            return True
        return any(words in one.lower() for one in _said(session)) or any(
            words in one.lower() for one in _tools(session)
        )


_ANY = Filter()


async def found_by(
    store: BaseSessionService, app_name: str, user_id: str, asked: Filter
) -> tuple[list[Session], int | None]:
    """The user's sessions that a filter asks for, the one changed last first; a store that can search does it.

    The number is that of the sessions that were looked through; None: all were.
    """
    where = Owner(app_name=app_name, user_id=user_id)
    searched = None
    if isinstance(store, SearchableSessions):
        ids = await store.containing(**where, texts=asked.texts)
    else:
        listed = (await store.list_sessions(**where)).sessions
        listed.sort(key=lambda one: one.last_update_time, reverse=True)
        ids = [one.id for one in listed[:_MOST_SEARCHED]]
        searched = _MOST_SEARCHED if len(listed) > _MOST_SEARCHED else None
    opened = [await store.open(**where, session_id=id_) for id_ in ids]
    return [one for one in opened if one is not None and asked.fits(one)], searched


def title_of(session: Session) -> str:
    """What a session was named, or the beginning of what the user said first."""
    named = session.state.get(METADATA)
    if isinstance(named, dict) and isinstance(text := named.get("displayName"), str) and text:
        return text[:_MOST_CHARACTERS]
    for event in session.events:
        if event.author == "user" and event.content is not None:
            text = " ".join(part.text for part in event.content.parts or () if part.text)
            if text.strip():
                return " ".join(text.split())[:_MOST_CHARACTERS]
    return ""


def _said(session: Session) -> Iterator[str]:
    for event in session.events:
        if event.error_message:
            yield event.error_message
        for part in (event.content.parts or ()) if event.content is not None else ():
            if part.text:
                yield part.text


def _tools(session: Session) -> Iterator[str]:
    for event in session.events:
        for call in event.get_function_calls():
            if call.name:
                yield call.name


def _failed(event: Event) -> bool:
    if event.error_code:
        return True
    return any(isinstance(one.response, dict) and one.response.get("error") for one in event.get_function_responses())


def _cost(session: Session) -> float:
    costs = (noted_cost(one.usage_metadata) for one in session.events if one.usage_metadata is not None)
    return sum(one for one in costs if one is not None)


def _slowest(session: Session) -> float:
    """How long the slowest run took, from its first event to its last, in seconds."""
    runs: dict[str, tuple[float, float]] = {}
    for event in session.events:
        first, _ = runs.get(event.invocation_id, (event.timestamp, 0.0))
        runs[event.invocation_id] = first, event.timestamp
    return max((last - first for first, last in runs.values()), default=0.0)
