"""The plugin of in-memory sessions: the URI ``memory:``."""

from __future__ import annotations

from newel import sessions
from newel.sessions.kinds import SessionBackend
from newel_kernel import hookimpl


@hookimpl
def register_session_backends() -> list[SessionBackend]:
    """The scheme ``memory``; each opening makes a new store."""
    return [SessionBackend(name="memory", open=lambda uri: sessions.InMemorySessionService())]
