"""Place: where the services of a check have their sessions, and short ways to write checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from newel.sessions.contract import SessionStore
from newel.testing.store_checks import StorePlace
from newel_kernel import Event, EventActions, Session
from newel_types import Content, Part

MakeStore: TypeAlias = Callable[[], SessionStore]
Place: TypeAlias = StorePlace[SessionStore]


def text_event(text: str, author: str = "agent", **fields: Any) -> Event:
    """An event with a text."""
    role = "user" if author == "user" else "model"
    return Event(author=author, content=Content(role=role, parts=[Part(text=text)]), **fields)


def wrote(**state: Any) -> Event:
    """An event that changes the state."""
    return Event(author="agent", actions=EventActions(state_delta=state))


def texts(session: Session | None) -> list[str | None]:
    """The texts of a session's events."""
    assert session is not None, "there is no such session"
    return [part.text for event in session.events if event.content for part in event.content.parts or ()]


async def reread(place: Place, store: SessionStore, session_id: str = "s") -> Session:
    """The session as another process would read it: by a further service, if the store can have two."""
    reader = place.service() if store.capabilities.shared else store
    session = await reader.get_session(**place.at(session_id))
    assert session is not None, f"the session {session_id!r} is gone"
    return session


async def refused(call: Awaitable[object], *kinds: type[Exception]) -> Exception:
    """The error of a call that has to be refused with one of `kinds`."""
    try:
        got = await call
    except kinds as error:
        return error
    names = " or ".join(kind.__name__ for kind in kinds)
    raise AssertionError(f"not refused with {names}, but answered {got!r:.200}")


def same(got: object, expected: object) -> None:
    """Raise AssertionError if two values differ."""
    assert got == expected, f"{got!r:.300} instead of {expected!r:.300}"
