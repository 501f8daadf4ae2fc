"""OutOfBand: a store through which an event is appended while a run has the session."""

from __future__ import annotations

from typing import Any

from newel.sessions.contract import SessionStore
from newel_kernel import BaseSessionService, ConfigurationError, Event, Json, Session


class OutOfBand:
    """The store, whose appends go to the end of the log and make no run stale."""

    def __init__(self, store: BaseSessionService) -> None:
        if not isinstance(store, SessionStore):
            raise ConfigurationError(
                f"the store {type(store).__name__} takes no message during a run: it has no append_out_of_band"
            )
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append out of band."""
        where: Json = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
        return await self._store.append_out_of_band(**where, event=event)
