"""A store of sessions for the kernel's own tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from newel_kernel import BaseSessionService, GetSessionConfig, ListSessionsResponse, Session, seam


class DictSessionService(BaseSessionService):
    """Sessions in a dict: all that the contract asks for, and no more."""

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, str, str], Session] = {}

    async def create_session(
        self, *, app_name: str, user_id: str, state: Mapping[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        session = Session(session_id or seam.new_id(), app_name=app_name, user_id=user_id, state=dict(state or {}))
        self.sessions[app_name, user_id, session.id] = session
        return session

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        return self.sessions.get((app_name, user_id, session_id))

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        return ListSessionsResponse(sessions=list(self.sessions.values()))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        self.sessions.pop((app_name, user_id, session_id), None)
